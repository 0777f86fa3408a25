import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStorage } from '@grantd/core/memory';
import { newClient } from '../../core/test/storage/samples.ts';
import { logThrough } from '../src/log/log.ts';
import { Monitor } from '../src/monitoring/monitor.ts';

const IDLE = {
  storage: { keys: memoryStorage().keys },
  isReady: async () => true,
  clock: { skewSeconds: 0 },
};

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

test('metrics count the streams of each client, also when its last one ends, and name only so many clients', () => {
  const monitor = new Monitor(4);
  const count = (streams: Readonly<Record<string, number>>) => {
    const entries = Object.entries(streams).map(([id, length]) => [id, new Array(length).fill({})] as const);
    monitor.watch({ ...IDLE, feed: { streams: new Map(entries) } });
    return monitor.counts().grantd_followers;
  };
  assert.deepEqual(count({}), []);
  assert.deepEqual(count({ a: 2, b: 1 }), [
    [['a'], 2],
    [['b'], 1],
  ]);
  assert.deepEqual(count({ b: 3, c: 1, d: 4 }), [
    [['a'], 0],
    [['b'], 3],
    [['other'], 5],
  ]);
});

test('strangers who register clients take no names in the metrics from the clients of the operator', async () => {
  const monitor = new Monitor(4);
  const storage = memoryStorage();
  const own = ['a', 'b', 'c'];
  for (const id of [...own, 'x', 'y', 'z'])
    await storage.clients.add({ ...newClient(id), ...(!own.includes(id) && { registeredAt: 1 }) });
  monitor.watch({ ...IDLE, storage, feed: { streams: new Map() } });
  const log = monitor.log(logThrough(() => {}));
  const request = (clientId: string) =>
    log.info({ event: 'request', method: 'POST', operation: 'introspection', status: 200, clientId });
  const names = () =>
    (monitor.counts().grantd_requests_total ?? []).map(([[, name], count]) => `${name} ${count}`).sort();
  for (const id of ['x', 'y', 'z', 'a', 'nobody']) request(id);
  assert.deepEqual(names(), ['other 3', 'x 1', 'y 1']);
  await new Promise(setImmediate);
  for (const id of ['z', 'a', 'nobody', 'b', 'c']) request(id);
  await new Promise(setImmediate);
  for (const id of ['a', 'b', 'c', 'x']) request(id);
  assert.deepEqual(names(), ['a 2', 'b 1', 'other 8', 'x 2', 'y 1']);
});
