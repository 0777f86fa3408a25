import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Line, sendAlone } from './harness/line.ts';
import { type Environment, type RunningServer, until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const API = basic('demo-api', 'demo-api-secret');
const WEB = basic('demo-web', 'demo-web-secret');
const MACHINE = basic('demo-machine', 'demo-machine-secret');

const eventsOf = (server: RunningServer, name: string) => server.log().filter(({ event }) => event === name);

/** Several workers, when the log says that they are ready. */
async function startWorkers(args: readonly string[], environment: Environment = {}): Promise<RunningServer> {
  const server = await workbench.start(workbench.folder(), args, environment);
  await until(() => eventsOf(server, 'listening').length === 1, 'it is logged');
  return server;
}

/** The process that currently has this worker number. */
const pidOf = (server: RunningServer, number: number) =>
  Number(eventsOf(server, 'worker_started').findLast(({ worker }) => worker === number)?.pid);

/** Kills a worker. Resolves when it has been replaced. */
async function replace(server: RunningServer, number: number): Promise<void> {
  const pid = pidOf(server, number);
  process.kill(pid, 'SIGKILL');
  await until(() => pidOf(server, number) !== pid, `worker ${number} is replaced`);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a worker that is replaced after secrets rotate uses the secret of the others, until the restart', async () => {
  const server = await startWorkers(['--demo', '--workers', '2']);
  const { folder, url } = server;
  await grantdPrints(folder, ['secrets', 'rotate']);
  const order = ['token', 'issue', '--client', 'demo-web', '--user', 'alice', '--refresh', '--json'];
  // The command seals the signing keys under the new secret, and the replacement must open them too.
  const lines = (await grantdPrints(folder, [...order, '--count', '6'])).trim().split('\n');
  await replace(server, 2);
  for (const line of lines) {
    const form = { grant_type: 'refresh_token', refresh_token: JSON.parse(line).refreshToken };
    const successors = new Set<string>();
    for (let retry = 0; retry < 3; retry += 1) {
      const answer = await sendAlone(`${url}/token`, { form, authorization: WEB });
      assert.equal(answer.status, 200, answer.body);
      successors.add(JSON.parse(answer.body).refresh_token);
    }
    assert.equal(successors.size, 1);
  }
  await server.stop();
});

test('each worker is killed in turn under a stream of requests: all are replaced, and no response is wrong', async () => {
  const server = await startWorkers(['--demo', '--workers', '3']);
  const order = { form: { grant_type: 'client_credentials' }, authorization: MACHINE };
  const { access_token: token } = JSON.parse((await sendAlone(`${server.url}/token`, order)).body);
  const question = { form: { token }, authorization: API };
  const streams = 6;
  let answered = 0;
  let broken = 0;
  let isOver = false;
  const stream = async (ask: () => ReturnType<typeof sendAlone>) => {
    while (!isOver) {
      // Only the killed worker's pending requests break off. A request without any response fails the test.
      const answer = await ask().catch((error: NodeJS.ErrnoException) => {
        assert.match(String(error.code), /^(ECONNRESET|EPIPE)$/);
        broken += 1;
      });
      if (answer === undefined) continue;
      answered += 1;
      assert.equal(answer.status, 200);
      assert.equal(JSON.parse(answer.body).active, true);
    }
  };
  const lines = Array.from({ length: streams / 2 }, () => new Line(server.url));
  const running = Promise.all([
    ...lines.map((line) => stream(() => line.send('/token/introspect', question))),
    ...lines.map(() => stream(() => sendAlone(`${server.url}/token/introspect`, question))),
  ]);
  for (const number of [1, 2, 3]) {
    const before = answered;
    await until(() => answered > before + 20, 'requests are answered');
    await replace(server, number);
  }
  isOver = true;
  await running;
  for (const line of lines) line.close();

  assert.ok(broken <= 3 * streams, `${broken} of ${answered} broken`);
  const deaths = eventsOf(server, 'worker_died').map(({ worker, signal, level }) => [worker, signal, level]);
  assert.deepEqual(deaths, [
    [1, 'SIGKILL', 'error'],
    [2, 'SIGKILL', 'error'],
    [3, 'SIGKILL', 'error'],
  ]);
  assert.equal(eventsOf(server, 'worker_started').length, 6);
  assert.equal(eventsOf(server, 'listening').length, 1);
  for (let count = 0; count < 6; count += 1)
    assert.equal(JSON.parse((await sendAlone(`${server.url}/token/introspect`, question)).body).active, true);
  assert.equal((await server.stop()).code, 0);
});

test('a connection that a worker has not taken when it is killed is answered by another', async () => {
  const server = await startWorkers(['--workers', '2']);
  const stopped = pidOf(server, 2);
  process.kill(stopped, 'SIGSTOP');
  let answered = 0;
  const answers = Array.from({ length: 6 }, async () => {
    const { status } = await sendAlone(`${server.url}/health`);
    answered += 1;
    return status;
  });
  // The stopped worker holds one connection. The others do not wait for it.
  await until(() => answered === 5, 'the other worker answers');
  process.kill(stopped, 'SIGKILL');
  assert.deepEqual(await Promise.all(answers), [200, 200, 200, 200, 200, 200]);
});

test('the port stays open while no worker lives', async () => {
  const server = await startWorkers(['--workers', '2']);
  const pids = [pidOf(server, 1), pidOf(server, 2)];
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until(() => eventsOf(server, 'worker_died').length === 2, 'both are dead');
  assert.equal((await sendAlone(`${server.url}/health`)).status, 200);
});

test('a worker that dies again and again is started again more and more slowly', async () => {
  const server = await startWorkers(['--workers', '2']);
  for (let count = 0; count < 4; count += 1) await replace(server, 2);
  const pauses = eventsOf(server, 'worker_died').map(({ startsAgainInMs }) => startsAgainInMs);
  assert.deepEqual(pauses, [0, 100, 200, 400]);
});

test('only the first worker sweeps, and so does the one that replaces it', async () => {
  const server = await startWorkers(['--demo', '--workers', '2'], {
    GRANTD_SWEEP_INTERVAL: '1',
  });
  const isSwept = async () => {
    const before = eventsOf(server, 'swept').length;
    await grantd(server.folder, ['token', 'issue', '--client', 'demo-machine', '--ttl', '1', '--count', '5']);
    await until(() => eventsOf(server, 'swept').length > before, 'rows are swept');
  };
  await isSwept();
  await replace(server, 1);
  await isSwept();
  assert.deepEqual(new Set(eventsOf(server, 'swept').map(({ worker }) => worker)), new Set([1]));
});

test('when the supervisor is killed the workers end at once, and the port is free', async () => {
  const server = await startWorkers(['--workers', '3']);
  const pids = [1, 2, 3].map((number) => pidOf(server, number));
  const line = new Line(server.url);
  await line.send('/health');
  process.kill(server.pid, 'SIGKILL');
  await until(() => pids.every((pid) => !isRunning(pid)), 'the workers are gone', 3000);
  line.close();
  const next = await workbench.start(server.folder, ['--port', String(server.port), '--workers', '2']);
  assert.equal((await sendAlone(`${next.url}/health`)).status, 200);
});
