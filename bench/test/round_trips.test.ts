import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { countRoundTrips } from '../processes/round_trips.ts';

/** Answers each byte with the same byte. */
async function echoServer() {
  const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/name` };
}

async function client(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return {
    socket,
    send: (text: string) => socket.write(text),
    async receive(length: number) {
      let text = '';
      while (text.length < length) text += String((await once(socket, 'data'))[0]);
      return text;
    },
  };
}

test('what is sent before a response is one round trip, what is sent after it is another', async (t) => {
  const { server, url } = await echoServer();
  const counter = await countRoundTrips(url);
  t.after(async () => {
    await counter.end();
    server.close();
  });
  assert.equal(new URL(counter.url).pathname, '/name');
  assert.equal(new URL(counter.url).username, 'user');

  const item = await client(counter.url);
  assert.equal(counter.roundTrips(), 0, 'a connection is none');
  item.send('abc');
  assert.equal(await item.receive(3), 'abc');
  assert.equal(counter.roundTrips(), 1);
  item.send('d');
  assert.equal(await item.receive(1), 'd');
  assert.equal(counter.roundTrips(), 2);

  const other = await client(counter.url);
  other.send('e');
  assert.equal(await other.receive(1), 'e');
  assert.equal(counter.roundTrips(), 3, 'connections are counted separately, and added');
});

test('statements that are sent one by one without waiting are one round trip', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const received: string[] = [];
  silent.on('connection', (socket) => socket.on('data', (bytes) => received.push(String(bytes))));
  const counter = await countRoundTrips(
    `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/name`,
  );
  t.after(async () => {
    await counter.end();
    silent.close();
  });
  const { send } = await client(counter.url);
  for (const [index, text] of ['BEGIN', 'UPDATE', 'COMMIT'].entries()) {
    send(text);
    while (received.length <= index) await sleep(1);
  }
  assert.deepEqual(received, ['BEGIN', 'UPDATE', 'COMMIT']);
  assert.equal(counter.roundTrips(), 1);
});

test('a connection that either side closes is closed on the other side as well', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const counter = await countRoundTrips(
    `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/name`,
  );
  const accepted = once(server, 'connection');
  const { socket } = await client(counter.url);
  const [upstream] = await accepted;
  const closed = once(socket, 'close');
  upstream.destroy();
  await closed;

  const again = once(server, 'connection');
  const second = await client(counter.url);
  const [other] = await again;
  const ended = once(other, 'close');
  await counter.end();
  await ended;
  second.socket.destroy();
});
