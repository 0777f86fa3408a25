import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const MAIN = join(import.meta.dirname, '../bin/grantd.mjs');

/** The exit of a command whose output the shell redirects. */
async function outcome(output: string): Promise<readonly [number, string]> {
  const child = spawn('/bin/sh', ['-c', `"$0" "$1" client add api ${output}`, process.execPath, MAIN], {
    cwd: workbench.folder(),
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 20_000,
  });
  const closed = once(child, 'close');
  const said = await text(child.stderr);
  const [code] = await closed;
  return [code, said];
}

test('a command whose output cannot be written says so: a secret is shown only once', async () => {
  // /dev/full fails every write like a full disk.
  const [code, said] = await outcome('> /dev/full');
  assert.equal(code, 1);
  assert.match(said, /^grantd: the output cannot be written: ENOSPC.*$/m);
});

test('a command whose reader has gone says nothing of it', async () => {
  const [, said] = await outcome('| true');
  assert.doesNotMatch(said, /written|EPIPE/);
});
