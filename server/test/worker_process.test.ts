import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import { WorkerProcess } from '../src/serve/supervisor.ts';
import { until } from './harness/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-worker-'));
const workers: WorkerProcess[] = [];
const acceptor = createServer({ pauseOnConnect: true });
let port = 0;
before(async () => {
  await new Promise<void>((resolve) => acceptor.listen(0, '127.0.0.1', resolve));
  port = (acceptor.address() as AddressInfo).port;
});
after(async () => {
  acceptor.close();
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
/** Seconds. Irrelevant limits are long. */
const PATIENCE = { start: 30, answer: 30, end: 30 };

/** A process that misbehaves as a worker. */
function start(name: string, code: string, timeouts: Partial<typeof PATIENCE>) {
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
    { program, timeouts: { ...PATIENCE, ...timeouts } },
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

  test('lives, but does not end on request', async () => {
    const { worker, events } = start('endless', `${READY} ${BEATS}`, { end: 1 });
    await until(() => events.includes('ready'), 'it is ready');
    worker.end();
    const { servedMs: _, ...end } = await worker.ended;
    assert.deepEqual(end, { code: null, signal: 'SIGKILL', overdue: 'end' });
  });
});

describe('a connection that was passed to a worker', () => {
  /** The result when the worker does this. */
  const eventsAfterHanding = async (name: string, code: string) => {
    const { worker, events } = start(
      name,
      `process.send({ type: 'ready', started: {} });
      process.on('message', ({ type }, socket) => { if (type === 'connection') { ${code} } });`,
      {},
    );
    await until(() => events.includes('ready'), 'it is ready');
    const caller = connect(port, '127.0.0.1').on('error', () => {});
    const [connection] = (await once(acceptor, 'connection')) as [Socket];
    worker.hand(connection);
    await worker.ended;
    caller.destroy();
    return events.slice(2);
  };

  test('comes back if the worker dies without a message', async () => {
    const die = `process.kill(process.pid, 'SIGKILL');`;
    assert.deepEqual(await eventsAfterHanding('silent', die), ['leaving', 'returned']);
  });

  test('comes back if the worker declines it', async () => {
    const decline = `process.send({ type: 'leaving' }); process.send({ type: 'declined' }); process.exit();`;
    assert.deepEqual((await eventsAfterHanding('declining', decline)).slice(0, 2), ['leaving', 'returned']);
  });

  test('does not come back if the worker has said that it took it, even if it dies right after', async () => {
    const take = `process.send({ type: 'taken' }); process.kill(process.pid, 'SIGKILL');`;
    for (let count = 0; count < 5; count += 1)
      assert.deepEqual(await eventsAfterHanding(`taking_${count}`, take), ['free', 'leaving']);
  });

  test('is the last one if the worker says that it takes no more', async () => {
    const leave = `process.send({ type: 'leaving' }); process.send({ type: 'taken' }); process.exit();`;
    assert.ok(!(await eventsAfterHanding('leaving', leave)).includes('free'));
  });
});

test('a worker that shows signs of life is left alone', async () => {
  const code = `${READY} ${BEATS} setTimeout(() => process.exit(7), 4500);`;
  const { worker } = start('alive', code, { answer: 3 });
  const { servedMs: _, ...end } = await worker.ended;
  assert.deepEqual(end, { code: 7, signal: null });
});

test('a worker that cannot be started says why', async () => {
  const execPath = process.execPath;
  process.execPath = join(folder, 'no_such_program');
  const { worker } = start('unborn', READY, {});
  process.execPath = execPath;
  assert.equal(worker.pid, undefined);
  const { failure, ...end } = await worker.ended;
  assert.deepEqual(end, { code: null, signal: null, servedMs: 0 });
  assert.match(failure?.message ?? '', /ENOENT/);
});
