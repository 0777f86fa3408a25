import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logThrough } from '../src/log/log.ts';
import { Monitor } from '../src/monitoring/monitor.ts';

test('metrics count streams to followers, and leave their duration out of that of requests', () => {
  const monitor = new Monitor();
  const log = monitor.log(logThrough(() => {}));
  const line = { event: 'request', method: 'POST', status: 200, durationMs: 600_000, clientId: 'api' };
  log.info({ ...line, operation: 'follow' });
  const { http_server_request_duration_seconds: durations = [], grantd_requests_total: requests } =
    monitor.counts();
  assert.deepEqual(durations, []);
  assert.match(JSON.stringify(requests), /"follow"/);
  log.info({ ...line, operation: 'introspection' });
  assert.match(JSON.stringify(monitor.counts().http_server_request_duration_seconds), /introspection/);
});
