import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { logTo, openLog } from '../src/log/log.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const LOG = join(import.meta.dirname, '../src/log/log.ts');
const OUTPUT = join(import.meta.dirname, '../src/log/log.ts');
const COUNT = 5000;

/** A process that logs many lines at once, more than one write accepts, and then a last one. */
const program = (last: string, form = 'json') => `
  const { openLog } = await import(${JSON.stringify(LOG)});
  const log = await openLog('${form}', { worker: 7 });
  for (let count = 0; count < ${COUNT}; count += 1) log.info({ event: 'counted', count });
  // Longer than the first write.
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

/** A child with unread output, and a promise of its exit. */
function started(code: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
  return { child, said: once(child.stderr, 'data'), closed: once(child, 'close') };
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

for (const [end, [last, code]] of Object.entries(ENDS))
  test(`a process that ends ${end} loses no line in the form for people`, async () => {
    const { child, closed } = started(program(last, 'pretty'));
    const lines = (await text(child.stdout)).split('\n');
    assert.deepEqual(await closed, [code, null]);
    assert.equal(lines.length, COUNT + 2);
    assert.match(String(lines[0]), /^\[[\d:.]+\] INFO: counted worker=7 count=0$/);
    assert.match(String(lines.at(-2)), /^\[[\d:.]+\] FATAL: last worker=7$/);
  });

test('a line has its level, time and worker first, then its members without those that are undefined', () => {
  const lines: string[] = [];
  const log = logTo({ write: (line) => void lines.push(line) }, { worker: 3 });
  log.warn({ event: 'one', left: undefined, none: null, list: [1, undefined], text: '\ud800\n"' });
  const [first = ''] = lines.map((line) => line.replace(/"time":"[\d:.TZ-]{24}"/, '"time":T'));
  const members = '"event":"one","none":null,"list":[1,null],"text":"\\ud800\\n\\""';
  assert.equal(first, `{"level":"warn","time":T,"worker":3,${members}}\n`);
});

test('a line that cannot be JSON says so, instead of failing the request', () => {
  const lines: string[] = [];
  const log = logTo({ write: (line) => void lines.push(line) });
  const ring: Record<string, unknown> = { event: 'ring' };
  ring.self = ring;
  for (const line of [{ event: 'big', count: 1n }, ring]) log.info(line);
  const read = lines.map((line) => JSON.parse(line));
  for (const { level, event, cause } of read)
    assert.deepEqual([level, event, cause.name], ['error', 'log_line_failed', 'TypeError']);
});

test('lines below the lowest level are not written', () => {
  const written = (least: 'info' | 'warn' | 'off') => {
    const lines: string[] = [];
    const log = logTo({ write: (line) => void lines.push(JSON.parse(line).level) }, { least });
    for (const level of ['info', 'warn', 'error', 'fatal'] as const) log[level]({ event: 'x' });
    assert.equal(log.isLevelEnabled?.('info'), least === 'info');
    return lines;
  };
  assert.deepEqual(written('info'), ['info', 'warn', 'error', 'fatal']);
  assert.deepEqual(written('warn'), ['warn', 'error', 'fatal']);
  assert.deepEqual(written('off'), []);
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

test('a long line is written as it is, and takes no memory that belongs to others', async () => {
  // Longer than a third of one write, but small enough for the pool from which Node cuts small buffers.
  const { child, closed } = started(`
    const { LogOutput } = await import(${JSON.stringify(OUTPUT)});
    const output = new LogOutput();
    Buffer.poolSize = 65_536 - (Buffer.from('x').buffer.byteLength - Buffer.poolSize);
    for (let count = 0; count < 10; count += 1) Buffer.from('x'.repeat(20_000));
    output.write('x'.repeat(25_000) + '\\n');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const others = Array.from({ length: 200 }, (_, index) => Buffer.from('other ' + index));
    for (let count = 0; count < 2000; count += 1) output.write('y'.repeat(100) + '\\n');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const changed = others.filter((other, index) => other.toString() !== 'other ' + index);
    console.error(changed.length);
  `);
  const [logged, changed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.deepEqual(await closed, [0, null]);
  assert.equal(changed, '0\n');
  assert.equal(logged, `${'x'.repeat(25_000)}\n${`${'y'.repeat(100)}\n`.repeat(2000)}`);
});

describe('a reader who has no room for what is written', () => {
  /** Handles errors like the program, whose output does not block. */
  const full = (last: string) => `
    process.stdout.on('error', () => {});
    ${program(`console.error('ending'); ${last}`)}
  `;

  for (const [end, [last, code]] of Object.entries(ENDS))
    test(`gets every line once a process ends ${end}, if there is room soon`, async () => {
      const { child, said, closed } = started(full(last));
      await said;
      assertWhole(await text(child.stdout));
      assert.deepEqual(await closed, [code, null]);
    });

  test('does not keep the process from ending', async () => {
    const { child, said } = started(full('process.exit(3);'));
    await said;
    assert.deepEqual(await once(child, 'exit'), [3, null]);
  });
});

test('what is logged after a line whose rest could not be written begins a line of its own', async () => {
  const folder = workbench.folder();
  // The file may have 8 or 16 KiB, depending on the shell's unit.
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      'ulimit -f 16; exec "$0" "$@" >> log',
      process.execPath,
      '--input-type=module',
      '-e',
      `
      const { truncateSync } = await import('node:fs');
      const { LogOutput } = await import(${JSON.stringify(OUTPUT)});
      const output = new LogOutput();
      const pause = () => new Promise((resolve) => setTimeout(resolve, 500));
      for (let count = 0; count < 1000; count += 1) output.write('x'.repeat(99) + '\\n');
      await pause();
      truncateSync('log', 150);
      output.write('next\\n');
      await pause();
      output.write('last\\n');
    `,
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: 20_000 },
  );
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const line = 'x'.repeat(99);
  assert.equal(readFileSync(join(folder, 'log'), 'utf8'), `${line}\n${'x'.repeat(50)}\nnext\nlast\n`);
});

test('processes that share a pipe never write into a line of another, however slowly it is read', async () => {
  const WRITERS = [1, 2, 3, 4];
  const code = `
    process.stdout.on('error', () => {});
    const { openLog } = await import(${JSON.stringify(LOG)});
    const worker = Number(process.argv[1]);
    const log = await openLog('json', { worker, isShared: true });
    for (let count = 0; count < ${COUNT}; count += 1) {
      log.info({ event: 'counted', count, ...(count % 50 === 0 && { long: 'x'.repeat(3900) }) });
      if (count % 1000 === 0) log.info({ event: 'too long', long: 'x'.repeat(6000) });
      if (count % (170 + 30 * worker) === 0) await new Promise((resolve) => setTimeout(resolve, 7));
    }
    setTimeout(() => {}, 1000);
  `;
  const writers = WRITERS.map((worker) => `"$0" "$@" ${worker} &`).join(' ');
  const args = ['-c', `{ ${writers} wait; } | cat`, process.execPath, '--input-type=module', '-e', code];
  const child = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: 20_000 });
  let logged = '';
  for await (const part of child.stdout.setEncoding('utf8')) {
    logged += part;
    await pause(10);
  }
  const lines = logged.split('\n').slice(0, -1);
  const read = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const tooLong = read.filter(({ event }) => event === 'log_line_too_long');
  assert.equal(tooLong.length, WRITERS.length * Math.ceil(COUNT / 1000));
  for (const writer of WRITERS)
    assert.deepEqual(
      read.flatMap(({ worker, count }) => (worker === writer && count !== undefined ? [count] : [])),
      Array.from({ length: COUNT }, (_, index) => index),
    );
});

test('a log that is off does not wait for the end of the process, however often it is opened', async () => {
  const before = process.listenerCount('exit');
  for (let count = 0; count < 20; count += 1) await openLog('off');
  assert.equal(process.listenerCount('exit'), before);
});
