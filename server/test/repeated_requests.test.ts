// Requests with an Idempotency-Key while the database fails.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServerSecret, StorageFault } from '@grantd/core';
import type { ApiRequests } from '../src/data/answered_requests.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { Problem } from '../src/http/problems.ts';
import { RepeatedRequests, type StoredAnswer } from '../src/http/repeated_requests.ts';
import { SQLITE } from './harness/databases.ts';
import { openDatabase } from './harness/program_data.ts';

const ANSWER: StoredAnswer = { status: 201, headers: {}, body: 'made' };
const SECRET = new ServerSecret<ProgramSecretUse>(['a secret of the server with enough characters']);
const DAY_MS = 24 * 60 * 60 * 1000;

/** Counts how often a request is performed. */
async function requests(t: TestContext) {
  const { apiRequests } = await openDatabase(t, SQLITE);
  const stage = { nowMs: 1000, performed: 0, failures: 0 };
  const repeatedOn = (store: ApiRequests, secret = SECRET) =>
    new RepeatedRequests({ apiRequests: store, secret, clock: () => stage.nowMs });
  const send = async (repeated: RepeatedRequests, result: StoredAnswer | Error = ANSWER, sent = {}) => {
    const onFailure = () => {
      stage.failures++;
    };
    const request = { caller: 'ops', target: 'POST /clients', body: '{}', key: 'key', onFailure, ...sent };
    try {
      const { answer, isRepeated } = await repeated.once(request, async () => {
        stage.performed++;
        if (result instanceof Error) throw result;
        return result;
      });
      return [answer.body, isRepeated];
    } catch (error) {
      return error instanceof Problem ? error.code : error;
    }
  };
  /** The store, with a database that fails from one write on. */
  const failingFrom = (failsAt: number): ApiRequests => {
    let writes = 0;
    const write = async (work: () => Promise<void>) => {
      writes++;
      if (writes >= failsAt) throw new StorageFault(new Error('no connection'));
      return work();
    };
    return {
      ...apiRequests,
      finish: (...values) => write(() => apiRequests.finish(...values)),
      forget: (...values) => write(() => apiRequests.forget(...values)),
    };
  };
  return { apiRequests, stage, send, repeatedOn, failingFrom };
}

test('a request whose outcome is unknown is not performed again with its key', async (t) => {
  const { apiRequests, stage, send, repeatedOn } = await requests(t);
  const repeated = repeatedOn(apiRequests);
  for (const fault of [new StorageFault(new Error('connection lost')), new TypeError('a bug')]) {
    stage.performed = 0;
    assert.equal(await send(repeated, fault), fault);
    assert.equal(await send(repeated), 'outcome_unknown');
    stage.nowMs += DAY_MS - 1;
    assert.equal(await send(repeated), 'outcome_unknown');
    assert.equal(stage.performed, 1);
    stage.nowMs += 1;
  }
});

test('a request that was performed is answered so, also if its answer cannot be stored', async (t) => {
  const { apiRequests, stage, send, repeatedOn, failingFrom } = await requests(t);
  assert.deepEqual(await send(repeatedOn(failingFrom(2))), ['made', false]);
  assert.equal(stage.failures, 1);
  // As after the death of its process.
  const other = repeatedOn(apiRequests);
  assert.equal(await send(other), 'request_pending');
  stage.nowMs += 60_000;
  assert.equal(await send(other), 'outcome_unknown');
  assert.equal(stage.performed, 1);
});

test('a refusal is answered as one, also if its key cannot be freed', async (t) => {
  const { stage, send, repeatedOn, failingFrom } = await requests(t);
  assert.equal(await send(repeatedOn(failingFrom(2)), new Problem('conflict')), 'conflict');
  assert.equal(stage.failures, 1);
});

test('a request that did not begin frees its key after a minute', async (t) => {
  const { apiRequests, stage, send, repeatedOn, failingFrom } = await requests(t);
  assert.ok((await send(repeatedOn(failingFrom(1)))) instanceof StorageFault);
  stage.nowMs += 60_000;
  assert.deepEqual(await send(repeatedOn(apiRequests)), ['made', false]);
  assert.equal(stage.performed, 1);
});

test('a request is performed once, whichever secret of the server its processes use first', async (t) => {
  const { apiRequests, stage, send, repeatedOn } = await requests(t);
  const [older, newer] = ['o'.repeat(32), 'n'.repeat(32)];
  /** The secrets of a process in the steps of docs/secrets.md. */
  const steps = [[older], [older, newer], [newer, older], [newer]].map((secrets) =>
    repeatedOn(apiRequests, new ServerSecret<ProgramSecretUse>(secrets)),
  );
  for (const [at, step] of steps.slice(1).entries())
    for (const [first, second] of [
      [steps[at], step],
      // Both steps are served until the last process has restarted.
      ...(at === 1 ? [[step, steps[at]]] : []),
    ]) {
      assert.ok(first && second);
      const key = `step-${at}`;
      stage.performed = 0;
      assert.deepEqual(await send(first, ANSWER, { key }), ['made', false]);
      assert.deepEqual(await send(second, ANSWER, { key }), ['made', true], `step ${at}`);
      assert.equal(await send(second, ANSWER, { key, body: '{"other":1}' }), 'idempotency_key_reused');
      assert.equal(stage.performed, 1);
      stage.nowMs += DAY_MS;
    }
});

test('of a request that processes with other secrets get at once, at most one is performed', async (t) => {
  const { apiRequests, stage, send, repeatedOn } = await requests(t);
  const [older, newer] = ['o'.repeat(32), 'n'.repeat(32)];
  const both = [
    [older, newer],
    [newer, older],
  ].map((secrets) => repeatedOn(apiRequests, new ServerSecret<ProgramSecretUse>(secrets)));
  for (let round = 0; round < 20; round++) {
    stage.performed = 0;
    const key = `round-${round}`;
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, index) => send(both[index % 2] ?? assert.fail(), ANSWER, { key })),
    );
    assert.ok(stage.performed <= 1, String(stage.performed));
    for (const outcome of outcomes)
      assert.ok(
        outcome === 'request_pending' || JSON.stringify(outcome).startsWith('["made",'),
        `${outcome}`,
      );
    const performedAtOnce = stage.performed;
    const last = await send(both[round % 2] ?? assert.fail(), ANSWER, { key });
    assert.deepEqual(last, ['made', performedAtOnce === 1]);
    assert.equal(stage.performed, 1);
  }
});
