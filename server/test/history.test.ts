// What the console draws: samples of metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History, quantile } from '../src/monitoring/history.ts';
import { Meter, WorkerSnapshots } from '../src/monitoring/meter.ts';

const REQUESTS = 'grantd_requests_total';
const SECONDS = 'http_server_request_duration_seconds';

test('a sample is the difference to the one before, by operation and by reason', () => {
  const meter = new Meter();
  const history = new History();
  meter.add(REQUESTS, 7, 'introspection', 'api', 200, 'ok', '');
  assert.equal(history.take(meter.snapshot(), 10_000), undefined, 'nothing to compare with');
  meter.add(REQUESTS, 3, 'introspection', 'api', 200, 'ok', '');
  meter.add(REQUESTS, 2, 'introspection', 'api', 200, 'inactive', 'token_expired');
  meter.add(REQUESTS, 4, 'token', '', 401, 'refused', 'client_secret_mismatch');
  meter.add(REQUESTS, 1, 'metadata', '', 503, 'fault', '');
  meter.observe(SECONDS, 0.002, 'token', 'POST', 200);
  meter.observe('db_client_operation_duration_seconds', 0.0002, 'sqlite', 'find', '');
  meter.observe('db_client_operation_duration_seconds', 20, 'sqlite', 'find', 'fault');
  meter.add('grantd_tokens_issued_total', 2, 'access_token', 'client_credentials');
  meter.add('grantd_revocations_total', 1, 'request');
  meter.add('grantd_swept_rows_total', 30);
  meter.add('grantd_sign_ins_total', 5, 'password_wrong');
  meter.add('grantd_sign_ins_total', 7, 'signed_in');
  const { latencies, storage, ...sample } = history.take(meter.snapshot(), 20_000) ?? {};
  assert.deepEqual(sample, {
    ...{
      atMs: 20_000,
      seconds: 10,
      issued: 2,
      revocations: 1,
      sweptRows: 30,
      storageFaults: 1,
      failedSignIns: 5,
    },
    requests: { introspection: 5, token: 4, other: 1 },
    refusals: { client_secret_mismatch: 4, fault: 1 },
    clients: {
      '': { requests: 5, refusals: { client_secret_mismatch: 4 } },
      api: { requests: 5, refusals: {}, inactive: { token_expired: 2 } },
    },
  });
  assert.deepEqual([latencies?.indexOf(1), storage?.indexOf(1), storage?.at(-1)], [2, 1, 1]);
  const idle = history.take(meter.snapshot(), 30_000);
  assert.deepEqual([idle?.requests, idle?.refusals, idle?.issued], [{}, {}, 0]);
  assert.equal(history.take(meter.snapshot(), 30_000), undefined, 'no time has passed');
});

test('a sample names the 50 clients with the most refusals, and sums the others', () => {
  const meter = new Meter();
  const history = new History();
  history.take(meter.snapshot(), 10_000);
  for (let at = 1; at <= 60; at++) {
    meter.add(REQUESTS, 5, 'token', `client-${at}`, 200, 'ok', '');
    meter.add(REQUESTS, at, 'token', `client-${at}`, 400, 'refused', 'scope_not_allowed');
  }
  meter.add(REQUESTS, 1, 'token', '__proto__', 200, 'ok', '');
  const { clients = {} } = history.take(meter.snapshot(), 20_000) ?? {};
  assert.equal(Object.keys(clients).length, 51);
  assert.deepEqual(clients['client-60'], { requests: 65, refusals: { scope_not_allowed: 60 } });
  assert.equal(clients['client-10'], undefined);
  assert.deepEqual(clients.other, { requests: 105, refusals: { scope_not_allowed: 55 } });
  assert.deepEqual(history.take(meter.snapshot(), 30_000)?.clients, {});
});

test('inactive answers of many clients displace no client with refusals, and none of the others is lost', () => {
  const meter = new Meter();
  const history = new History();
  history.take(meter.snapshot(), 10_000);
  for (let at = 1; at <= 60; at++)
    meter.add(REQUESTS, 100 + at, 'introspection', `api-${at}`, 200, 'inactive', 'bad_signature');
  meter.add(REQUESTS, 1, 'token', 'app', 400, 'refused', 'scope_not_allowed');
  const { clients = {}, refusals } = history.take(meter.snapshot(), 20_000) ?? {};
  assert.equal(Object.keys(clients).length, 52);
  assert.deepEqual(clients.app, { requests: 1, refusals: { scope_not_allowed: 1 } });
  assert.deepEqual(clients['api-60'], { requests: 160, refusals: {}, inactive: { bad_signature: 160 } });
  assert.deepEqual(clients.other, { requests: 1055, refusals: {}, inactive: { bad_signature: 1055 } });
  assert.deepEqual(refusals, { scope_not_allowed: 1 }, 'an inactive answer is no refusal');
});

test('an outage goes on until an answer, also if the worker that saw it has died', () => {
  const workers = new WorkerSnapshots();
  const history = new History();
  const [one, two] = [new Meter(), new Meter()];
  const note = (meter: Meter, what: 'answered' | 'failed', seconds: number) =>
    meter.set(`grantd_peer_${what}_timestamp_seconds`, seconds, 'provider', 'Staff');
  const take = (atMs: number) => {
    workers.received(1, one.snapshot());
    workers.received(2, two.snapshot());
    return history.take(workers.with({}), atMs)?.outages;
  };
  take(0);
  note(one, 'answered', 5);
  assert.equal(take(10_000), undefined);
  note(two, 'failed', 11);
  const outage = { kind: 'provider', name: 'Staff', sinceMs: 11_000 };
  assert.deepEqual(take(20_000), [{ ...outage, lastMs: 11_000 }]);
  note(one, 'failed', 21);
  assert.deepEqual(take(30_000), [{ ...outage, lastMs: 21_000 }]);
  workers.ended(1);
  workers.ended(2);
  assert.deepEqual(history.take(workers.with({}), 40_000)?.outages, [{ ...outage, lastMs: 21_000 }]);
  note(two, 'answered', 45);
  assert.equal(take(50_000), undefined);
});

test('an hour is kept', () => {
  const history = new History();
  const meter = new Meter();
  for (let at = 0; at <= 400; at++) history.take(meter.snapshot(), at * 10_000);
  assert.equal(history.samples.length, 360);
  assert.equal(history.samples[0]?.atMs, 410_000);
  assert.equal(history.samples.at(-1)?.atMs, 4_000_000);
});

test('a worker that is killed takes nothing back, and its successor counts from zero', () => {
  const workers = new WorkerSnapshots();
  const history = new History();
  const take = (atMs: number) => history.take(workers.with({}), atMs)?.requests;
  const counted = (count: number) => {
    const meter = new Meter();
    meter.add(REQUESTS, count, 'token', '', 200, 'ok', '');
    return meter.snapshot();
  };
  workers.received(1, counted(5));
  workers.received(2, counted(5));
  take(0);
  workers.received(1, counted(8));
  assert.deepEqual(take(10_000), { token: 3 });
  workers.ended(1);
  assert.deepEqual(take(20_000), {});
  workers.received(1, counted(2));
  assert.deepEqual(take(30_000), { token: 2 });
});

test('a quantile lies within its bucket', () => {
  assert.equal(quantile(SECONDS, [], 0.5), undefined);
  assert.equal(quantile(SECONDS, [10], 0.5), 0.00025);
  assert.equal(quantile(SECONDS, [0, 0, 4], 0.5), 0.00175);
  assert.equal(quantile(SECONDS, [1, 1], 0.5), 0.0005);
  const beyond = [...new Array<number>(17).fill(0), 3];
  assert.equal(quantile(SECONDS, beyond, 0.99), 10, 'beyond the last bound');
});
