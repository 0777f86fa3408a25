import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { finish } from '../src/serve/shutdown.ts';
import { freePort } from './harness/free_port.ts';
import { until, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('what does not finish in time is closed', async () => {
  const http = createServer(() => {});
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  const isAsked = new Promise((resolve) => http.once('request', resolve));
  const isClosed = new Promise((resolve) => get({ port, host: '127.0.0.1' }).on('error', resolve));
  await isAsked;
  assert.equal(await finish(http, 50), false);
  assert.ok((await isClosed) instanceof Error);
});

for (const workers of ['1', '2']) {
  test(`a server that npm started ends with the shell in which npm did so, with --workers ${workers}`, async () => {
    const port = await freePort();
    const main = join(import.meta.dirname, '../bin/grantd.mjs');
    // The shell stays, as npm's does, and does not pass the signal on.
    const shell = spawn(
      '/bin/sh',
      [
        '-c',
        '"$0" "$1" serve --port "$2" --workers "$3"; true',
        process.execPath,
        main,
        String(port),
        workers,
      ],
      {
        cwd: workbench.folder(),
        env: { PATH: process.env.PATH, npm_lifecycle_event: 'start' },
        stdio: 'ignore',
      },
    );
    const health = `http://127.0.0.1:${port}/health`;
    let status = 0;
    const look = async () => {
      status = await fetch(health).then(
        (response) => response.status,
        () => 0,
      );
    };
    const timer = setInterval(look, 50);
    await until(() => status === 200, 'the server answers');
    shell.kill('SIGTERM');
    await until(() => status === 0, 'the server is gone');
    clearInterval(timer);
  });
}
