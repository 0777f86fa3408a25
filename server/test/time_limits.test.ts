import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createHttpServer } from '../src/serve/http_server.ts';
import { answerTo } from './harness/wire.ts';

test('findings A20: a request whose body stops coming is closed at the time limit, not at Node’s next look 30 seconds later', async (t) => {
  const { http, answerWith } = createHttpServer({ request: 500, checkInterval: 50 });
  answerWith((request, response) => {
    request.resume().on('end', () => response.end());
  });
  http.listen(0, '127.0.0.1');
  t.after(() => http.close());
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const startedAtMs = performance.now();
  const head = 'POST /par HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n';
  const answer = await answerTo(port, `${head}client_id=app`);
  const tookMs = performance.now() - startedAtMs;
  assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/);
  assert.ok(tookMs >= 450 && tookMs < 10_000, `it took ${tookMs} ms`);
  assert.equal(createHttpServer().http.requestTimeout, 30_000);
});
