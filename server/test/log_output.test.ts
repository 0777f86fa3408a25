import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const LOG = join(import.meta.dirname, '../src/log/log.ts');
const COUNT = 5000;

/** A process that logs so many lines at once, of which one write takes no more than a part, and a last one. */
const program = (last: string) => `
  const { openLog } = await import(${JSON.stringify(LOG)});
  const log = await openLog('json', 7);
  for (let count = 0; count < ${COUNT}; count += 1) log.info({ event: 'counted', count });
  // Longer than what it is begun to write takes.
  setTimeout(() => {
    log.fatal({ event: 'last' });
    ${last}
  }, 500);
`;

const ENDS = {
  'by itself': ['', 0],
  'by an exit': ['process.exit(3);', 3],
  'by an error that nobody catches': ["throw new Error('fatal');", 1],
} as const;

function assertWhole(logged: string): void {
  const lines = logged.split('\n');
  assert.equal(lines.pop(), '');
  const [first, ...others] = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const { time, ...rest } = first ?? {};
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, { level: 'info', worker: 7, event: 'counted', count: 0 });
  const { level, event } = others.pop() ?? {};
  assert.deepEqual([level, event], ['fatal', 'last']);
  assert.deepEqual(
    others.map(({ count }) => count),
    Array.from({ length: COUNT - 1 }, (_, index) => index + 1),
  );
}

for (const [end, [last, code]] of Object.entries(ENDS))
  describe(`a process that ends ${end} loses no line of its log`, () => {
    const args = ['--input-type=module', '-e', program(last)];

    test('on a pipe', async () => {
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: 20_000 });
      const closed = once(child, 'close');
      assertWhole(await text(child.stdout));
      assert.deepEqual(await closed, [code, null]);
    });

    test('in a file', async () => {
      const file = join(workbench.folder(), 'log');
      const stdout = openSync(file, 'a');
      const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore'], timeout: 20_000 });
      closeSync(stdout);
      assert.deepEqual(await once(child, 'close'), [code, null]);
      assertWhole(readFileSync(file, 'utf8'));
    });
  });

test('lines that come together are written together', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program('')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  let parts = 0;
  child.stdout.on('data', () => {
    parts += 1;
  });
  await once(child, 'close');
  assert.ok(parts < COUNT / 20, `${COUNT} lines came in ${parts} parts`);
});
