import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const skip =
  process.platform !== 'linux'
    ? 'only Linux has priorities for threads'
    : Number.parseInt(process.versions.node, 10) < 24 && 'Node names its threads from version 24 on';

/** The niceness of each thread of a process, and whether it belongs to V8. */
function threadsOf(pid: number) {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).map((id) => {
    const [, name = '', rest = ''] =
      /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`${folder}/${id}/stat`, 'utf8')) ?? [];
    // The 19th field (proc_pid_stat), of which the first two are matched before.
    return { isOfV8: name.includes('V8Worker'), niceness: Number(rest.split(' ')[16]) };
  });
}

function childrenOf(pid: number): readonly number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return listed === '' ? [] : listed.split(' ').map(Number);
}

for (const workers of [1, 2])
  test(`with ${workers} workers, the threads of V8 have a lower priority than those that serve`, {
    skip,
  }, async () => {
    const server = await workbench.start(await workbench.home(), ['--demo', '--workers', `${workers}`]);
    const serving = workers === 1 ? [server.pid] : childrenOf(server.pid);
    assert.equal(serving.length, workers);
    for (const pid of serving) {
      const threads = threadsOf(pid);
      const ofV8 = threads.filter(({ isOfV8 }) => isOfV8);
      assert.ok(ofV8.length > 0);
      for (const { niceness } of ofV8) assert.equal(niceness, 10);
      for (const { niceness } of threads.filter(({ isOfV8 }) => !isOfV8)) assert.equal(niceness, 0);
    }
    await server.stop();
  });
