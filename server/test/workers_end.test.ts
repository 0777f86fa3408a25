import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { grantdPrints } from './harness/commands.ts';
import { environmentIn, grantd, PROGRAM, type RunningServer, until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';
import { begin } from './harness/wire.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');
const eventsOf = (server: RunningServer, name: string) => server.log().filter(({ event }) => event === name);

/** Several workers, when the log says that they are ready. */
async function startWorkers(args: readonly string[]): Promise<RunningServer> {
  const server = await workbench.start(workbench.folder(), args);
  await until(() => eventsOf(server, 'listening').length === 1, 'it is logged');
  return server;
}

/** One request per worker, with an incomplete body. */
async function requestsInFlight(server: RunningServer, count: number) {
  const body = 'grant_type=client_credentials';
  const head =
    'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
    `Authorization: ${basic('demo-machine', 'demo-machine-secret')}\r\n` +
    `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;
  const requests: Awaited<ReturnType<typeof begin>>[] = [];
  for (let index = 0; index < count; index += 1) {
    const request = await begin(server.port, head);
    await until(() => request.text().includes('100 Continue'), 'a request is in flight');
    requests.push(request);
  }
  return {
    finish() {
      for (const { socket } of requests) socket.write(body);
    },
    statuses: () => requests.map(({ text }) => /\r\nHTTP\/1\.1 (\d+) /.exec(text())?.[1]),
  };
}

describe('what is in flight on every worker is answered before all end, with 0, on', () => {
  const waysToEnd: Readonly<Record<string, (server: RunningServer) => void>> = {
    SIGTERM: ({ pid }) => process.kill(pid, 'SIGTERM'),
    'SIGTERM, and others after it': ({ pid }) => {
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    },
    // Like a terminal.
    'SIGINT to all processes at once': (server) => {
      const workers = eventsOf(server, 'worker_started').map(({ pid }) => Number(pid));
      for (const pid of [...workers, server.pid]) process.kill(pid, 'SIGINT');
    },
  };
  for (const [how, end] of Object.entries(waysToEnd)) {
    test(how, async () => {
      const server = await startWorkers(['--demo', '--workers', '3']);
      const requests = await requestsInFlight(server, 3);
      end(server);
      await until(() => eventsOf(server, 'ending').length === 3, 'all are ending');
      requests.finish();
      const { code } = await server.ended;
      assert.equal(code, 0);
      assert.deepEqual(requests.statuses(), ['200', '200', '200']);
      const ended = eventsOf(server, 'ended').map(({ worker, inFlight }) => [worker, inFlight]);
      assert.deepEqual(ended.sort(), [
        [1, 'finished'],
        [2, 'finished'],
        [3, 'finished'],
      ]);
      assert.deepEqual(eventsOf(server, 'worker_died'), []);
    });
  }
});

test('a signal to a worker alone changes nothing: its supervisor decides', async () => {
  const server = await startWorkers(['--workers', '2']);
  const [worker] = eventsOf(server, 'worker_started');
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(Number(worker?.pid), signal);
  for (let count = 0; count < 4; count += 1)
    assert.equal((await fetch(`${server.url}/health`, { headers: { connection: 'close' } })).status, 200);
  const { code, stdout } = await server.stop();
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /worker_died/);
});

test('a signal during the start ends it as well', async () => {
  const [node, main] = PROGRAM;
  const folder = workbench.folder();
  const server = spawn(node, [main, 'serve', '--port', '0', '--workers', '8'], {
    cwd: folder,
    env: environmentIn(folder),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(server, 'close');
  // The first worker is ready, the others are starting.
  await once(server.stdout, 'data');
  server.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

describe('with workers a start is refused once, in the same words and with the same code as without:', () => {
  const refusals: Readonly<Record<string, (folder: string) => Promise<readonly string[]>>> = {
    'the port is in use': async () => {
      const other = await workbench.start(workbench.folder());
      return ['--port', String(other.port)];
    },
    'the host is not of this machine': async () => ['--host', '192.0.2.1'],
    'the database belongs to another issuer': async (folder) => {
      const port = String(await freePort());
      await grantdPrints(folder, ['client', 'add', 'x', '--issuer', 'http://localhost:1']);
      return ['--port', port];
    },
    'the library refuses an option': async () => [
      '--authenticate-introspect',
      'false',
      '--introspection-policy',
      'audience',
    ],
    'demo data on a host that others reach': async () => ['--demo', '--host', '0.0.0.0'],
    'the secret is missing': async (folder) => {
      await grantdPrints(folder, ['client', 'add', 'x', '--issuer', 'http://localhost:4000']);
      rmSync(`${databaseOf(folder)}.secret`);
      return ['--issuer', 'http://localhost:4000'];
    },
    'the file is no database': async (folder) => {
      mkdirSync(join(folder, 'grantd-data'));
      writeFileSync(databaseOf(folder), 'x'.repeat(8192));
      return [];
    },
    'the database cannot be made': async () => ['--database', 'sqlite:/dev/null/grantd.db'],
  };
  for (const [what, prepare] of Object.entries(refusals)) {
    test(what, async () => {
      const folder = workbench.folder();
      const given = await prepare(folder);
      const args = ['serve', ...(given.includes('--port') ? [] : ['--port', '0']), ...given];
      const alone = await grantd(folder, args);
      const together = await grantd(folder, [...args, '--workers', '3']);
      assert.deepEqual(together, alone);
      assert.match(alone.stderr, /^grantd: .+\n$/);
      assert.notEqual(alone.code, 0);
    });
  }
});

test('a database that is replaced ends all workers, with 1, and is reported once', async () => {
  const server = await startWorkers(['--demo', '--workers', '3']);
  const requests = await requestsInFlight(server, 3);
  const before = server.stderr();
  rmSync(databaseOf(server.folder));
  await until(() => eventsOf(server, 'database_replaced').length === 3, 'all notice');
  requests.finish();
  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.deepEqual(requests.statuses(), ['503', '503', '503']);
  assert.match(
    stderr.slice(before.length),
    /^grantd: the database \S+grantd\.db .* was replaced or deleted, .*\n$/,
  );
  assert.deepEqual(eventsOf(server, 'worker_died'), []);
});

test('a database that was deleted a moment before the end is reported as well', async () => {
  const server = await startWorkers(['--workers', '2']);
  rmSync(databaseOf(server.folder));
  const { code, stderr } = await server.stop();
  assert.equal(code, 1);
  assert.equal(stderr.match(/^grantd: the database .* was replaced or deleted/gm)?.length, 1);
});
