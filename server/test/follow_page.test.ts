// The page that specifies the feed, and its follower in Python.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { keyOf } from '../src/follow/endings.ts';
import { Workbench } from './harness/program.ts';
import { basic, payloadOf, postForm, type Tokens } from './harness/protocol.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(join(ROOT, 'docs', 'follow.md'), 'utf8');
const PYTHON_ABSENCE = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed';

test('the test vectors of the page are right', () => {
  const [, ...vectors] =
    /Test vectors: `all` is `(.*)`; .* is `(.*)`; .* is `(.*)`; .* is `(.*)`\./.exec(PAGE) ?? [];
  assert.deepEqual(vectors, [
    keyOf(['all']),
    keyOf(['client', 'my-app']),
    keyOf(['subject', '7']),
    keyOf(['grant', 'my-app', '7']),
  ]);
});

test('the follower in Python accepts a token, asks after its revocation, and knows when it has no contact', {
  skip: PYTHON_ABSENCE,
}, async () => {
  const workbench = new Workbench();
  after(() => workbench.clear());
  const server = await workbench.start(workbench.folder(), ['--demo']);
  const [, command = ''] = /^\$ python3 (.*)$/m.exec(PAGE) ?? [];
  const args = command.replace('http://localhost:4000', server.url).split(' ');
  const python = spawn('python3', ['-B', ...args], { cwd: ROOT });
  after(() => python.kill());
  python.stderr.pipe(process.stderr);
  const lines = createInterface(python.stdout);
  const machine = basic('demo-machine', 'demo-machine-secret');
  const form = { grant_type: 'client_credentials', scope: 'api:read', resource: 'http://localhost:4003' };
  const { access_token: token } = (await (
    await postForm(`${server.url}/token`, form, machine)
  ).json()) as Tokens;
  const { client_id, sub } = payloadOf(token);
  const untilItSays = async (advice: string) => {
    for (let tries = 0; ; tries++) {
      python.stdin.write(`${client_id} ${sub}\n`);
      const [line] = await once(lines, 'line');
      if (line === advice) return;
      assert.ok(tries < 200, `${line} instead of ${advice}`);
      await pause(50);
    }
  };
  await untilItSays('accept');
  await postForm(`${server.url}/token/revoke`, { token }, machine);
  await untilItSays('introspect: it may have ended');
  await server.stop();
  await untilItSays('introspect: no contact');
});
