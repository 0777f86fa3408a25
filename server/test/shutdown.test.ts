import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Agent, createServer, get, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { finish } from '../src/serve/shutdown.ts';
import { freePort } from './harness/free_port.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';

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
