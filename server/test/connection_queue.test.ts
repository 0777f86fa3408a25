import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { ConnectionQueue } from '../src/serve/supervisor.ts';

/** Records which worker got which connection. */
function taker(name: string, notes: [string, Socket][]) {
  return { hand: (connection: Socket) => notes.push([name, connection]) };
}

function sockets(count: number): readonly Socket[] {
  return Array.from({ length: count }, () => new Socket());
}

describe('connections and workers', () => {
  test('meet in the order in which they came, whichever waits for the other', () => {
    const notes: [string, Socket][] = [];
    const queue = new ConnectionQueue();
    const [first, second, third] = sockets(3) as [Socket, Socket, Socket];
    queue.add(first);
    queue.add(second);
    queue.offer(taker('a', notes));
    queue.offer(taker('b', notes));
    queue.offer(taker('c', notes));
    queue.add(third);
    assert.deepEqual(notes, [
      ['a', first],
      ['b', second],
      ['c', third],
    ]);
  });

  test('a connection that comes back goes before those that wait', () => {
    const notes: [string, Socket][] = [];
    const queue = new ConnectionQueue();
    const [returned, waiting] = sockets(2) as [Socket, Socket];
    queue.add(waiting);
    queue.putBack(returned);
    queue.offer(taker('a', notes));
    assert.deepEqual(notes, [['a', returned]]);
  });

  test('a worker that is withdrawn gets nothing', () => {
    const notes: [string, Socket][] = [];
    const queue = new ConnectionQueue();
    const worker = taker('a', notes);
    queue.offer(worker);
    queue.withdraw(worker);
    queue.add(new Socket());
    assert.deepEqual(notes, []);
  });

  test('more than 1024 do not wait, and no connection waits once it is closed', () => {
    const queue = new ConnectionQueue();
    const waiting = sockets(1024);
    for (const socket of waiting) queue.add(socket);
    const [tooMany, tooLate, returned] = sockets(3) as [Socket, Socket, Socket];
    queue.add(tooMany);
    assert.ok(tooMany.destroyed);
    assert.ok(!waiting.some(({ destroyed }) => destroyed));
    queue.close();
    assert.ok(waiting.every(({ destroyed }) => destroyed));
    queue.add(tooLate);
    queue.putBack(returned);
    assert.ok(tooLate.destroyed && returned.destroyed);
  });
});
