import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until, Workbench } from './harness/program.ts';

const workbench = new Workbench();
const callers: Socket[] = [];
after(async () => {
  for (const caller of callers) caller.destroy();
  await workbench.clear();
});

test('a server that runs out of descriptors just after its start goes on, and shows its pages later', async () => {
  const folder = workbench.folder();
  const main = join(import.meta.dirname, '../bin/grantd.mjs');
  const bounded = join(folder, 'bounded.sh');
  writeFileSync(bounded, `ulimit -n 64\nexec "${process.execPath}" "${main}" "$@"\n`);
  const server = await workbench.start(folder, ['--sweep-interval', '1'], {}, ['/bin/sh', bounded]);
  for (let count = 0; count < 100; count += 1)
    callers.push(connect(server.port, '127.0.0.1').on('error', () => {}));
  // The first sweep, which starts a thread, comes two seconds after the start; the pages load one second after it.
  await pause(500);
  const isSweepFailed = () => server.log().some(({ event }) => event === 'sweep_failed');
  await until(isSweepFailed, 'a sweep fails for want of descriptors');
  for (const caller of callers) caller.destroy();

  let status: number | string = 0;
  const look = async () => {
    while (status !== 200) {
      status = await fetch(`${server.url}/`).then(
        (response) => response.status,
        (error: Error) => error.message,
      );
      if (status !== 200) await pause(100);
    }
  };
  await Promise.race([look(), pause(15_000)]);
  assert.equal(status, 200);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  assert.equal((await server.stop()).code, 0);
});
