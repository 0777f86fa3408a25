import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { json, post, SERVICE } from './asking.ts';
import { SECRET } from './started.ts';

const FOLDER = join(import.meta.dirname, '..', 'hono_on_workerd');
const BIN = join(FOLDER, '..', '..', 'node_modules', '.bin');
const WORKERD: string = createRequire(import.meta.url)('workerd').default;

/** The commands at the top of the example. */
const COMMANDS = readFileSync(join(FOLDER, 'worker.capnp'), 'utf8')
  .split('\n')
  .flatMap((line) => (line.startsWith('# npx ') ? [line.slice('# npx '.length).split(' ')] : []));

test('examples/hono_on_workerd is bundled and served as it says, without anything of Node', async (t) => {
  const [[bundler = '', ...bundling] = [], [server, ...serving] = [], ...others] = COMMANDS;
  assert.deepEqual([bundler, server, others], ['esbuild', 'workerd', []]);
  await promisify(execFile)(join(BIN, bundler), bundling, { cwd: FOLDER });
  assert.doesNotMatch(readFileSync(join(FOLDER, 'dist', 'worker.mjs'), 'utf8'), /["']node:/);
  const url = await served(t, serving);

  const issued = await post(`${url}/token`, { grant_type: 'client_credentials', scope: 'read' }, SERVICE);
  const { access_token: issuedToken, ...issuance } = await json(issued);
  assert.deepEqual(
    [issued.status, issuance],
    [200, { token_type: 'Bearer', expires_in: 3600, scope: 'read' }],
  );
  const token = String(issuedToken);
  const isActive = async () => (await json(await post(`${url}/token/introspect`, { token }, SERVICE))).active;
  assert.equal(await isActive(), true);
  assert.equal((await post(`${url}/token/revoke`, { token }, SERVICE)).status, 200);
  assert.equal(await isActive(), false);

  const metadata = await json(await fetch(`${url}/.well-known/oauth-authorization-server`));
  assert.equal(metadata.issuer, 'http://127.0.0.1:8787');
  assert.equal(await (await fetch(url)).text(), 'the application');
  assert.equal((await fetch(`${url}/nobody-is-here`)).status, 404);
});

test('a request that could not open the server of examples/hono_on_workerd leaves the next one free to', async (t) => {
  t.mock.method(console, 'error', () => {}); // Hono prints the error of a request here
  const { default: worker } = await import('../hono_on_workerd/worker.ts');
  const asked = async (GRANTD_SECRET: string) => {
    const bindings = { ISSUER: 'https://login.example', GRANTD_SECRET };
    return (await worker.request('/.well-known/oauth-authorization-server', {}, bindings)).status;
  };
  assert.deepEqual([await asked('too short'), await asked(SECRET), await asked(SECRET)], [500, 200, 200]);
});

/** Runs the example's command, but on a free port. */
async function served(t: TestContext, args: readonly string[]): Promise<string> {
  const place = ['--socket-addr', 'http=127.0.0.1:0', '--control-fd=1'];
  const workerd = spawn(WORKERD, [...args, ...place], {
    cwd: FOLDER,
    env: { ...process.env, GRANTD_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(workerd, 'exit');
  t.after(async () => {
    workerd.kill();
    await ended;
  });
  for await (const line of createInterface(workerd.stdout)) {
    const { event, port } = JSON.parse(line);
    if (event === 'listen') return `http://127.0.0.1:${port}`;
  }
  throw new Error('workerd ended before it listened');
}
