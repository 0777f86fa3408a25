import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Generator, LoadOrder } from '../load/generator.ts';
import { Running } from '../running.ts';
import { isReady } from '../subjects/contestants.ts';
import { REVOKED } from '../works/answers.ts';
import type { Contestant, Workload } from '../works/work.ts';

const BARE = join(import.meta.dirname, '..', 'subjects', 'bare.ts');
const WORK = { name: 'w', title: 'W', connections: 1, contestants: async () => [] };

/** Sends nothing, and reports the given rate. */
function generator(perSecond: number): Generator & { readonly orders: LoadOrder[] } {
  const orders: LoadOrder[] = [];
  return {
    name: 'none',
    orders,
    async run(order) {
      orders.push(order);
      const sent = Math.min(order.count ?? Number.POSITIVE_INFINITY, order.seconds * perSecond);
      return {
        ...{ generator: 'none', sent, right: { all: sent }, wrong: 0, errors: 0, seconds: sent / perSecond },
        ...{ latencyMs: { p50: 1, p90: 1, p99: 1, max: 1 }, generatorCpu: undefined },
      };
    },
  };
}

function asked(requests: string, requestCount: number): Workload {
  return { requests, requestCount, sample: { method: 'GET', path: '/' }, answers: [REVOKED] };
}

async function warmedUp(t: TestContext, part: Omit<Contestant, 'name' | 'process'>, perSecond: number) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'answer.json');
  writeFileSync(file, JSON.stringify({ status: 200, headers: {}, body: '' }));
  const load = generator(perSecond);
  const process_ = { command: (port: number) => [process.execPath, BARE, String(port), file], isReady };
  const running = await Running.start(WORK, { name: 'bare', process: process_, ...part }, load);
  try {
    await running.warmUp(8);
    const { warmUpSeconds } = await running.measure(0, { rounds: 2, seconds: 3 });
    const told = load.orders.map(({ requests, from, seconds, count }) => ({
      requests,
      from,
      seconds,
      count,
    }));
    return { warmUpSeconds, told };
  } finally {
    await running.end();
  }
}

test('what can be sent again and again warms up by itself', async (t) => {
  assert.deepEqual(await warmedUp(t, asked('own', 1000), 100), {
    warmUpSeconds: { own: 8, other: 0 },
    told: [
      { requests: 'own', from: 0, seconds: 8, count: undefined },
      { requests: 'own', from: 800, seconds: 3, count: undefined },
    ],
  });
});

test('a pass through the same requests is part of the warm-up', async (t) => {
  const own = asked('own', 600);
  assert.deepEqual((await warmedUp(t, { ...own, first: own }, 100)).warmUpSeconds, { own: 8, other: 0 });
});

test('before what can be sent but once other requests warm up, then a fifth of its own at most', async (t) => {
  const part = { ...asked('own', 500), onlyOnce: true, warmUp: asked('others', 10) };
  assert.deepEqual(await warmedUp(t, part, 100), {
    warmUpSeconds: { own: 1, other: 6 },
    told: [
      { requests: 'others', from: 0, seconds: 6, count: undefined },
      { requests: 'own', from: 0, seconds: 2, count: 100 },
      // The other half is for the second round. Requests that are pending when a run ends are sent twice.
      { requests: 'own', from: 100, seconds: 3, count: 199 },
    ],
  });
});

test('if other tokens are introspected first, they are the warm-up', async (t) => {
  const part = { ...asked('own', 5000), onlyOnce: true, first: asked('before', 1000) };
  assert.deepEqual(await warmedUp(t, part, 100), {
    warmUpSeconds: { own: 2, other: 10 },
    told: [
      { requests: 'before', from: 0, seconds: 300, count: 1000 },
      { requests: 'own', from: 0, seconds: 2, count: 1000 },
      { requests: 'own', from: 200, seconds: 3, count: 2399 },
    ],
  });
});

test('a program that rests when it is idle is woken by others, if its own can be sent but once', async (t) => {
  const part = { ...asked('own', 500), onlyOnce: true, warmUp: asked('others', 10), wakeUpSeconds: 1 };
  const { told } = await warmedUp(t, part, 100);
  assert.deepEqual(told.slice(2), [
    { requests: 'others', from: 0, seconds: 1, count: undefined },
    { requests: 'own', from: 100, seconds: 3, count: 199 },
  ]);
});

test('a program that rests when it is idle is woken by its own requests, if they can be repeated', async (t) => {
  const { told } = await warmedUp(t, { ...asked('own', 5000), wakeUpSeconds: 1 }, 100);
  assert.deepEqual(told.slice(1), [
    { requests: 'own', from: 800, seconds: 1, count: undefined },
    { requests: 'own', from: 900, seconds: 3, count: undefined },
  ]);
});
