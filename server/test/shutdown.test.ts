import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Agent, createServer, get, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { HandedConnections } from '../src/serve/handed_connections.ts';
import { createHttpServer } from '../src/serve/http_server.ts';
import { finish } from '../src/serve/shutdown.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { answerTo, begin } from './harness/wire.ts';

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

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('a new connection', () => {
  /** Closes as soon as it has a connection, before it reads from it. @returns whether it finished in time */
  async function closedAtOnce(isHanded: boolean) {
    const server = createHttpServer();
    await server.answerWith((_request, response) => response.end('answered'));
    server.closeAfterAnswers();
    const handed = isHanded ? new HandedConnections(server, undefined, () => {}) : undefined;
    const listener = handed === undefined ? server.http : createTcpServer((socket) => handed.take(socket));
    const finished = new Promise((resolve) => {
      listener.once('connection', () => resolve(finish(handed ?? server.connections)));
    });
    if (isHanded) finished.finally(() => listener.close());
    return { port: await listenOnLoopback(listener), finished };
  }

  for (const isHanded of [false, true])
    test(`still gets the answer to its first request${isHanded ? ', in a worker' : ''}`, async () => {
      const { port, finished } = await closedAtOnce(isHanded);
      assert.match(await answerTo(port, REQUEST), /^HTTP\/1\.1 200 .*Connection: close.*answered$/is);
      assert.equal(await finished, true);
    });

  test('that brings no request delays the end by a second', async () => {
    const { port, finished } = await closedAtOnce(false);
    assert.equal(await answerTo(port, ''), '');
    assert.equal(await finished, true);
  });
});

test('a connection that is in use shortly before the port closes gets another answer, which closes it', async () => {
  const server = createHttpServer();
  await server.answerWith((_request, response) => response.end('answered'));
  server.closeAfterAnswers();
  server.keepLastConnections();
  const { socket, text } = await begin(await listenOnLoopback(server.http), REQUEST);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await until(() => text().endsWith('answered'), 'it is answered');
  server.closeAfterAnswers();
  const finished = finish(server.connections);
  socket.write(REQUEST);
  await closed;
  assert.match(text(), /Connection: keep-alive.*answeredHTTP\/1\.1 200 .*Connection: close.*answered$/is);
  assert.equal(await finished, true);
});

test('connections and requests that have arrived before the port closes are answered, also if the event loop is late', async () => {
  const server = createHttpServer();
  await server.answerWith((_request, response) => response.end('answered'));
  const port = await listenOnLoopback(server.http);
  const { socket, text } = await begin(port, REQUEST);
  await until(() => text().endsWith('answered'), 'it is answered');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  // Both arrive in this turn of the event loop, in which the server cannot notice them.
  socket.write(REQUEST);
  const late = connect(port, '127.0.0.1').once('connect', () => late.write(REQUEST));
  const lateAnswer = late.setEncoding('utf8').toArray();
  server.closeAfterAnswers();
  assert.equal(await finish(server.connections), true);
  await closed;
  assert.match(text(), /answeredHTTP\/1\.1 200 .*answered$/is);
  assert.match((await lateAnswer).join(''), /^HTTP\/1\.1 200 .*answered$/is);
});

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly body: string;
}

/** Sends a request over a connection that stays open if the server allows it. */
function ask({ port }: RunningServer, path: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const read = async (response: IncomingMessage) => {
      let body = '';
      for await (const part of response.setEncoding('utf8')) body += part;
      resolve({ status: response.statusCode, connection: response.headers.connection, body });
    };
    get({ host: '127.0.0.1', port, path, agent }, (response) => read(response).catch(reject)).on(
      'error',
      reject,
    );
  });
}

describe('between SIGTERM and the end of --shutdown-delay', () => {
  for (const workers of ['1', '2']) {
    test(`requests are answered, over kept and new connections, and each answer closes its own, with --workers ${workers}`, async () => {
      const server = await workbench.start(workbench.folder(), [
        ...['--demo', '--workers', workers, '--shutdown-delay', '3600'],
      ]);
      const kept = new Agent({ keepAlive: true });
      assert.equal((await ask(server, '/jwks', kept)).connection, 'keep-alive');
      // Its body is not complete yet.
      const slow = request({
        ...{ host: '127.0.0.1', port: server.port, path: '/token', method: 'POST', agent: kept },
        headers: { 'content-length': 1, expect: '100-continue' },
      });
      const inFlight = new Promise<IncomingMessage>((resolve, reject) =>
        slow.on('response', resolve).on('error', reject),
      );
      await new Promise((resolve) => slow.on('continue', resolve).flushHeaders());
      process.kill(server.pid, 'SIGTERM');
      const endings = () => server.log().filter(({ event }) => event === 'ending');
      await until(() => endings().length === Number(workers), 'the end is logged');

      const kept2 = new Agent({ keepAlive: true });
      for (const [path, status, body] of [
        ['/health/ready', 503, '{"status":"ending"}'],
        ['/health', 503, '{"status":"ending"}'],
        ['/health/live', 200, '{"status":"ok"}'],
      ] as const)
        assert.deepEqual(await ask(server, path, kept2), { status, body, connection: 'close' });
      for (const path of ['/jwks', '/', '/nowhere']) {
        const { status, connection } = await ask(server, path, kept2);
        assert.deepEqual([status, connection], [path === '/jwks' || path === '/' ? 200 : 404, 'close']);
      }
      slow.end('x');
      assert.equal((await inFlight).headers.connection, 'close');
      // A second signal ends the delay.
      const { code } = await server.stop('SIGTERM');
      assert.equal(code, 0);
    });
  }
});

test('SIGINT ends the server without the delay', async () => {
  const server = await workbench.start(workbench.folder(), ['--shutdown-delay', '3600']);
  assert.equal((await server.stop('SIGINT')).code, 0);
});

for (const workers of ['1', '2']) {
  test(`SIGHUP does not end a server without a terminal, and is logged once, with --workers ${workers}`, async () => {
    const server = await workbench.start(workbench.folder(), ['--workers', workers]);
    process.kill(server.pid, 'SIGHUP');
    const { level, reloaded } = await server.logged(({ event }) => event === 'hangup', 'as a hangup');
    assert.deepEqual([level, reloaded], ['warn', []]);
    const agent = new Agent();
    assert.equal((await ask(server, '/health/ready', agent)).status, 200);
    assert.equal((await server.stop()).code, 0);
    assert.equal(server.log().filter(({ event }) => event === 'hangup').length, 1);
  });
}

for (const workers of ['1', '2']) {
  test(`a server that npm started ends with the shell in which npm did so, with --workers ${workers}`, async () => {
    const port = await freePort();
    const main = join(import.meta.dirname, '../bin/grantd.mjs');
    // The shell stays and does not forward the signal, like npm's.
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
        env: { PATH: process.env.PATH, npm_lifecycle_event: 'start', GRANTD_SHUTDOWN_DELAY: '0' },
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
