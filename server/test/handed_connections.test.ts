import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { HandedConnections } from '../src/serve/handed_connections.ts';
import { finish } from '../src/serve/shutdown.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { until } from './harness/program.ts';
import { begin as beginUnended } from './harness/wire.ts';

const acceptors: ReturnType<typeof createTcpServer>[] = [];
const callers: Socket[] = [];
after(() => {
  for (const acceptor of acceptors) acceptor.close();
  for (const caller of callers) caller.destroy();
});

async function begin(port: number, bytes: string): ReturnType<typeof beginUnended> {
  const begun = await beginUnended(port, bytes);
  callers.push(begun.socket);
  return begun;
}

/** Connections that one server accepts and another serves. */
async function handOver(http: Server) {
  let left = 0;
  const connections = new HandedConnections({ http, mtls: undefined }, undefined, () => {
    left += 1;
  });
  const declined: Socket[] = [];
  const acceptor = createTcpServer({ pauseOnConnect: true }, (socket) => {
    if (connections.take(socket)) socket.resume();
    else declined.push(socket.on('error', () => {}));
  });
  acceptors.push(acceptor);
  await new Promise<void>((resolve) => acceptor.listen(0, '127.0.0.1', resolve));
  return { connections, declined, left: () => left, port: (acceptor.address() as AddressInfo).port };
}

const answer: RequestListener = (_request, response) => response.end('answered');
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('connections that were accepted elsewhere', () => {
  test('are answered, one request after the other', async () => {
    const { port } = await handOver(createServer(answer));
    const { socket, text } = await begin(port, REQUEST);
    await until(() => text().endsWith('answered'), 'it is answered');
    socket.write(REQUEST);
    await until(() => text().split('answered').length === 3, 'the second one is answered');
  });

  test('without a local port, because they have closed on the way, do not stay open', async () => {
    let asked = 0;
    const http = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    const connections = new HandedConnections({ http, mtls: undefined }, undefined, () => {});
    const acceptor = createTcpServer({ pauseOnConnect: true }, (socket) => {
      Object.defineProperty(socket, 'localPort', { value: undefined });
      connections.take(socket);
      socket.resume();
    });
    acceptors.push(acceptor);
    const { socket } = await begin(await listenOnLoopback(acceptor), REQUEST);
    await until(() => asked === 1, 'it has a server');
    socket.destroy();
    assert.equal(await finish(connections), true);
  });

  test('have the same limits of time', async () => {
    const http = createServer({ headersTimeout: 50, connectionsCheckingInterval: 10 }, answer);
    const { port } = await handOver(http);
    const { text } = await begin(port, 'GET / HTTP/1.1\r\nHost: ');
    await until(() => text().startsWith('HTTP/1.1 408 '), 'it is refused');
  });

  test('are closed at the end: idle ones at once, busy ones once they are answered', async () => {
    let isBusy = false;
    let finishAnswer = () => {};
    const http = createServer((request, response) => {
      isBusy = request.url === '/busy';
      if (isBusy) finishAnswer = () => response.end('late');
      else response.end();
    });
    const { port, connections, left, declined } = await handOver(http);
    const idle = await begin(port, REQUEST);
    await until(() => idle.text() !== '', 'it is answered');
    const busy = await begin(port, REQUEST.replace('/', '/busy'));
    await until(() => isBusy, 'the other one is asked');
    const isClosed = new Set<Socket>();
    for (const { socket } of [idle, busy]) socket.once('close', () => isClosed.add(socket));
    let isFinished: boolean | undefined;
    const finishing = finish(connections).then((value) => {
      isFinished = value;
    });
    await until(() => isClosed.has(idle.socket), 'the idle one is closed');
    assert.equal(left(), 1);
    assert.equal(isFinished, undefined);
    await begin(port, REQUEST);
    await until(() => declined.length === 1, 'a new one is declined');
    finishAnswer();
    await finishing;
    assert.equal(isFinished, true);
    assert.match(busy.text(), /late$/);
    declined[0]?.destroy();
  });

  test('are all closed if they do not finish in time', async () => {
    const http = createServer(() => {});
    const { port, connections } = await handOver(http);
    const { socket } = await begin(port, REQUEST);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => http.once('request', resolve));
    assert.equal(await finish(connections, 50), false);
    await closed;
  });
});
