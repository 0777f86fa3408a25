import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { AuthorizationServer, type AuthorizingStorage } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { logTo, RequestLog } from '../src/log/log.ts';
import { requestListener } from '../src/serve/http_server.ts';

const issuer = 'http://localhost';

/** Its responses are impossible in HTTP. */
class Unspeakable extends AuthorizationServer<AuthorizingStorage> {
  override operationAt() {
    return async () => ({ status: 200, headers: { 'x-name': 'line\nbreak' }, body: '' });
  }
}

test('what cannot be sent by an endpoint is answered 500, and the log says why', async (t) => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = logTo({ write: (line: string) => lines.push(JSON.parse(line)) });
  const listener = requestListener({
    server: new Unspeakable({ issuer, secret: 's'.repeat(32), storage: memoryStorage({ issuer }) }),
    requestLog: new RequestLog(log),
    pages: async () => {},
  });
  const server = createServer(listener).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const response = await fetch(`http://127.0.0.1:${port}/jwks`, { headers: { connection: 'close' } });
  assert.deepEqual([response.status, await response.text()], [500, '']);
  const [failure] = lines.filter(({ event }) => event === 'failure');
  assert.equal(failure?.reason, 'unexpected');
  assert.match(JSON.stringify(failure?.cause), /ERR_INVALID_CHAR/);
});
