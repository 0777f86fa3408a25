import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import { WorkerProcess } from '../src/serve/worker_process.ts';
import { until } from './harness/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-worker-'));
const workers: WorkerProcess[] = [];
after(async () => {
  await Promise.all(workers.map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

const ORDER = {
  worker: 1,
  settings: readConfiguration({}, {}).settings,
  sources: {},
  database: join(folder, 'grantd.db'),
  port: 1,
  bringsDemo: false,
};
/** Seconds; those that do not matter are long. */
const PATIENCE = { start: 30, answer: 30, end: 30 };

/** A process that does what a worker should not. */
function start(name: string, code: string, patience: Partial<typeof PATIENCE>) {
  const program = join(folder, `${name}.mjs`);
  writeFileSync(program, code);
  const events: string[] = [];
  const worker = new WorkerProcess(
    ORDER,
    {
      ready: () => events.push('ready'),
      free: () => events.push('free'),
      leaving: () => events.push('leaving'),
      returned: () => events.push('returned'),
    },
    { program, patience: { ...PATIENCE, ...patience } },
  );
  workers.push(worker);
  return { worker, events };
}

const READY = `process.on('message', () => {}); process.send({ type: 'ready', started: {} });`;
const BEATS = `setInterval(() => process.send({ type: 'beat' }), 100);`;

describe('a worker is killed that', () => {
  test('does not become ready in time', async () => {
    const { worker, events } = start('never_ready', `process.on('message', () => {}); ${BEATS}`, {
      start: 1,
    });
    const { servedMs, ...end } = await worker.ended;
    assert.deepEqual(end, { code: null, signal: 'SIGKILL', overdue: 'start' });
    assert.equal(servedMs, 0);
    assert.deepEqual(events, ['leaving']);
  });

  test('gives no sign of life any more', async () => {
    const { worker, events } = start('hung', `${READY} for (;;);`, { answer: 1 });
    const { servedMs, ...end } = await worker.ended;
    assert.deepEqual(end, { code: null, signal: 'SIGKILL', overdue: 'answer' });
    assert.ok(servedMs > 0);
    assert.deepEqual(events, ['ready', 'free', 'leaving']);
  });

  test('lives, but does not end when it is told to', async () => {
    const { worker, events } = start('endless', `${READY} ${BEATS}`, { end: 1 });
    await until(() => events.includes('ready'), 'it is ready');
    worker.end('SIGTERM');
    const { servedMs: _, ...end } = await worker.ended;
    assert.deepEqual(end, { code: null, signal: 'SIGKILL', overdue: 'end' });
  });
});

test('a worker that shows signs of life is left alone', async () => {
  const code = `${READY} ${BEATS} setTimeout(() => process.exit(7), 4500);`;
  const { worker } = start('alive', code, { answer: 3 });
  const { servedMs: _, ...end } = await worker.ended;
  assert.deepEqual(end, { code: 7, signal: null });
});
