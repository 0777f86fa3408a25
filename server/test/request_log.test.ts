// Runs alone: measures the heap.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { logTo, RequestLog } from '../src/log/log.ts';
import { until } from './harness/program.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('the log of requests', () => {
  let lines: Readonly<Record<string, unknown>>[] = [];
  let requestLog: RequestLog;
  let listener: RequestListener = () => {};
  const http = createServer((request, response) => listener(request, response));

  beforeEach(async () => {
    lines = [];
    requestLog = new RequestLog(logTo({ write: (line: string) => lines.push(JSON.parse(line)) }));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
  });
  afterEach(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });

  /** Sends requests without waiting for responses. */
  function send(count: number) {
    const { port } = http.address() as AddressInfo;
    const connection = connect(port, '127.0.0.1').on('error', () => {});
    connection.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count));
    return connection;
  }

  const known = () =>
    lines.map(({ event, path, aborted, status, clientId }) => [event, path, aborted, status, clientId]);

  test('names the client that became known while the request was answered', async () => {
    listener = (request, response) => {
      const requestId = requestLog.begin(request, response);
      requestLog.event({ type: 'answered', operation: 'token', requestId, clientId: 'web' });
      response.end();
    };
    send(1);
    await until(() => lines.length === 1, 'the request is logged');
    assert.deepEqual(known(), [['request', '/slow', undefined, 200, 'web']]);
  });

  test('does not name what becomes known of an earlier request that has ended', async () => {
    let earlier: string | undefined;
    listener = (request, response) => {
      const requestId = requestLog.begin(request, response);
      if (earlier !== undefined) requestLog.about({ requestId: earlier, clientId: 'late' });
      earlier = requestId;
      response.end();
    };
    send(1);
    await until(() => lines.length === 1, 'the first request is logged');
    send(1);
    await until(() => lines.length === 2, 'the second request is logged');
    assert.deepEqual(
      known().map(([, , , , clientId]) => clientId),
      [undefined, undefined],
    );
  });

  test('names the client of a request that is open while thousands of others come and go', async () => {
    const OTHERS = 3000;
    let slow: (() => void) | undefined;
    listener = (request, response) => {
      const requestId = requestLog.begin(request, response);
      if (slow !== undefined) {
        requestLog.about({ requestId, clientId: 'other' });
        response.end();
        return;
      }
      slow = () => {
        requestLog.about({ requestId, clientId: 'slow' });
        response.end();
      };
    };
    send(1);
    await until(() => slow !== undefined, 'the slow request is open');
    send(OTHERS).resume();
    await until(() => lines.length === OTHERS, 'the other requests are logged');
    slow?.();
    await until(() => lines.length === OTHERS + 1, 'the slow request is logged');
    assert.deepEqual(
      lines.map(({ clientId }) => clientId),
      [...Array.from({ length: OTHERS }, () => 'other'), 'slow'],
    );
  });

  test('names the endpoint, and why it refused the request', async () => {
    listener = (request, response) => {
      const requestId = requestLog.begin(request, response);
      const event = { operation: 'token', requestId, error: 'invalid_client', status: 401 } as const;
      requestLog.event({ ...event, type: 'refused', reason: 'client_unknown' });
      response.writeHead(401).end();
    };
    send(1);
    await until(() => lines.length === 2, 'the refusal and the request are logged');
    const { operation, status, reason, aborted } = lines[1] ?? {};
    assert.deepEqual([operation, status, reason, aborted], ['token', 401, 'client_unknown', undefined]);
  });

  test('has one line for a failure, and then one that counts those that came again', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const fail = (message: string) => {
      const cause = new Error('the store does not answer', { cause: new Error(message) });
      const event = { operation: 'token', requestId: 'none', error: 'temporarily_unavailable' } as const;
      requestLog.event({ ...event, type: 'refused', status: 503, reason: 'storage_unavailable', cause });
    };
    const shown = () =>
      lines.splice(0).map(({ event, reason, times, cause }) => {
        const { stack, cause: below } = cause as { stack?: string; cause: { message: string } };
        return [event, reason, times, stack !== undefined, below.message];
      });
    const refused = (message: string) => ['refused', 'storage_unavailable', undefined, true, message];
    for (const message of ['full', 'full', 'another', 'full']) fail(message);
    requestLog.event({ type: 'refresh_token_reused', operation: 'token', tokenId: 'a' });
    requestLog.event({ type: 'refresh_token_reused', operation: 'token', tokenId: 'a' });
    const refusal = { type: 'sign_in_failed', page: 'upstream', reason: 'provider_unavailable' } as const;
    for (const requestId of ['a', 'b'])
      requestLog.pageEvent({ ...refusal, requestId, cause: new Error('down') });
    const others = lines.splice(2);
    assert.equal(others.length, 4, 'nothing else is counted');
    assert.deepEqual(
      others[3]?.cause,
      { name: 'Error', message: 'down' },
      'and what is no failure has no stack',
    );
    assert.deepEqual(shown(), [refused('full'), refused('another')]);
    t.mock.timers.tick(9999);
    fail('full');
    assert.deepEqual(shown(), []);
    t.mock.timers.tick(1);
    assert.deepEqual(shown(), [['failure_repeated', 'storage_unavailable', 3, false, 'full']]);
    fail('full');
    assert.deepEqual(shown(), [refused('full')], 'a later one has a line again');
    t.mock.timers.tick(10_000);
    assert.deepEqual(shown(), [], 'and none if it came only once');
    for (let number = 0; number < 60; number++) fail(`message ${number}`);
    for (let number = 0; number < 60; number++) fail(`message ${number}`);
    assert.equal(lines.length, 70, 'counts at most 50 at the same time');
  });

  test('keeps nothing of a request whose caller disconnects before the response', async () => {
    const COUNT = 40;
    const CLIENT_CHARACTERS = 500_000;
    listener = (request, response) => {
      const requestId = requestLog.begin(request, response);
      connection.destroy();
      response.once('close', () => {
        const clientId = Buffer.alloc(CLIENT_CHARACTERS, 'x').toString('latin1');
        requestLog.event({ type: 'answered', operation: 'token', requestId, clientId });
      });
    };
    let connection = send(0);
    const before = heapBytes();
    for (let count = 1; count <= COUNT; count += 1) {
      connection = send(1);
      await until(() => lines.length === count, 'the request is logged');
    }
    assert.deepEqual(known().at(-1), ['request', '/slow', true, undefined, undefined]);
    const allowed = (COUNT * CLIENT_CHARACTERS) / 4;
    // A thread frees buffers, and reports them at a later collection. What is kept never goes away.
    await until(() => heapBytes() - before < allowed, `at most ${allowed} bytes more are kept`);
  });

  test('has a line for each pipelined request', async () => {
    const COUNT = 20;
    let begun = 0;
    listener = (request, response) => {
      requestLog.begin(request, response);
      begun += 1;
    };
    const connection = send(COUNT);
    await until(() => begun === COUNT, 'they have begun');
    connection.destroy();
    await until(() => lines.length >= COUNT, 'they are logged');
    assert.deepEqual(known(), Array(COUNT).fill(['request', '/slow', true, undefined, undefined]));
  });

  test('has one line for each pipelined request that is answered', async () => {
    const COUNT = 20;
    listener = (request, response) => {
      requestLog.begin(request, response);
      setTimeout(() => response.end(), 10);
    };
    const connection = send(COUNT);
    await until(() => lines.length >= COUNT, 'they are logged');
    connection.destroy();
    await once(connection, 'close');
    assert.deepEqual(known(), Array(COUNT).fill(['request', '/slow', undefined, 200, undefined]));
  });
});
