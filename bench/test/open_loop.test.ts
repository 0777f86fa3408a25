import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { keptItsRate, type OpenLoopOrder, runOpenLoop } from '../load/open_loop.ts';
import { type PlannedRequest, writeRequestFile } from '../load/request_file.ts';
import { ACTIVE } from '../works/answers.ts';
import { rateFor, writing } from '../works/open_loop.ts';

const BODY = '{"active":true}';

/** Runs the generator against a server in this process, with ten reads and ten writes to draw from. */
async function run(
  t: TestContext,
  answer: RequestListener,
  part: Partial<OpenLoopOrder>,
  signal?: AbortSignal,
) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const named = (name: string) =>
    Array.from(
      { length: 10 },
      (_, index) => ({ method: 'POST', path: '/', body: `${name}-${index}` }) as const,
    );
  const [reads, writes] = [join(folder, 'reads'), join(folder, 'writes')];
  await writeRequestFile(reads, named('read'));
  await writeRequestFile(writes, named('write'));
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const order = { address, reads, writes, writeEvery: 20, fromWrite: 0, answers: [ACTIVE], connections: 4 };
  return runOpenLoop({ ...order, rate: 100, warmUpSeconds: 0, seconds: 1, ...part }, signal);
}

const right: RequestListener = (_request, response) => response.end(BODY);

test('reads repeat in order, and every n-th arrival is a write that was not sent before', async (t) => {
  const asked: string[] = [];
  const result = await run(
    t,
    async (request, response) => {
      asked.push(await text(request));
      response.end(BODY);
    },
    { connections: 1, writeEvery: 4, fromWrite: 3, rate: 200, warmUpSeconds: 0.04, seconds: 0.06 },
  );
  assert.deepEqual(asked.slice(0, 9), [
    ...['write-3', 'read-1', 'read-2', 'read-3'],
    ...['write-4', 'read-5', 'read-6', 'read-7'],
    'write-5',
  ]);
  assert.equal(asked.length, 20);
  assert.deepEqual([result.arrivals, result.writes, result.seconds], [12, 5, 0.06]);
});

test('everything that arrives while the server stands still is late, and counts', async (t) => {
  let answered = 0;
  const { arrivals, latencyMs } = await run(
    t,
    (_request, response) => {
      answered += 1;
      const untilMs = answered === 20 ? performance.now() + 500 : 0;
      while (performance.now() < untilMs);
      response.end(BODY);
    },
    { rate: 100, seconds: 1 },
  );
  assert.equal(arrivals, 100);
  // Half of the arrivals wait, a quarter of a second on average. A closed loop would have seen four late responses.
  assert.ok(latencyMs.max >= 480, `the longest took ${latencyMs.max} ms`);
  assert.ok(latencyMs.p99 >= 400, `the 99th percentile was ${latencyMs.p99} ms`);
});

test('arrivals that find no free connection wait for one, and the wait counts', async (t) => {
  const { arrivals, latencyMs } = await run(
    t,
    (_request, response) => void setTimeout(() => response.end(BODY), 50),
    { connections: 1, rate: 40, seconds: 0.5 },
  );
  assert.equal(arrivals, 20);
  // Each takes 50 ms and the next one is due after 25 ms, so the last one is 19 * 25 ms late.
  assert.ok(latencyMs.max >= 400, `the longest took ${latencyMs.max} ms`);
});

test('the warm-up is sent and not measured', async (t) => {
  let answered = 0;
  const result = await run(
    t,
    (_request, response) => {
      answered += 1;
      if (answered <= 10) setTimeout(() => response.end(BODY), 400);
      else response.end(BODY);
    },
    { connections: 20, rate: 50, warmUpSeconds: 0.5, seconds: 0.5 },
  );
  assert.equal(answered, 50);
  assert.equal(result.arrivals, 25);
  assert.ok(result.latencyMs.max < 350, `the longest took ${result.latencyMs.max} ms`);
});

test('it ends early when it is told to, and says how much it measured', async (t) => {
  const { arrivals } = await run(
    t,
    right,
    { writeEvery: 1000, rate: 100, seconds: 60 },
    AbortSignal.timeout(3000),
  );
  assert.ok(arrivals >= 1 && arrivals < 600, `${arrivals} arrivals`);
});

test('one wrong response fails the measurement, and does not show a token', async (t) => {
  let answered = 0;
  const token = 'secret'.repeat(10);
  const wrongOnce: RequestListener = (_request, response) => {
    answered += 1;
    response.end(answered === 30 ? `{"active":false,"jti":"${token}"}` : BODY);
  };
  await assert.rejects(run(t, wrongOnce, {}), {
    message: '1 answers were wrong, first: 200 {"active":false,"jti":"…"}',
  });
});

test('a connection that is lost fails the measurement', async (t) => {
  let answered = 0;
  const lostOnce: RequestListener = (request, response) => {
    answered += 1;
    if (answered === 30) request.socket.destroy();
    else response.end(BODY);
  };
  await assert.rejects(run(t, lostOnce, {}), { message: /^1 requests were not answered$/ });
});

test('the measurement fails if there are not enough writes', async (t) => {
  await assert.rejects(run(t, right, { writeEvery: 5, rate: 200 }), /all 10 writes were used up/);
});

test('a rate is kept if the generator’s own delays are small beside the latencies, or beside those of interest', () => {
  const tail = (p99: number, p999: number) => ({ p50: 0, p99, p999, max: p999 });
  const kept = (latencyMs: [number, number], lagMs: [number, number]) =>
    keptItsRate({ latencyMs: tail(...latencyMs), lagMs: tail(...lagMs) });
  assert.equal(kept([1, 2], [0.5, 1.5]), true);
  assert.equal(kept([1, 2], [0.51, 1.5]), false);
  assert.equal(kept([1, 2], [0.5, 1.51]), false);
  assert.equal(kept([30, 140], [3, 14]), true);
  assert.equal(kept([30, 140], [3.1, 14]), false);
});

test('the rate is 5,000 per second, or half of what the server can do', () => {
  assert.deepEqual([20_000, 10_000, 9999, 1].map(rateFor), [5000, 5000, 4999, 1]);
});

test('of the writes, four issue and one revokes', () => {
  const request = (path: string): PlannedRequest => ({ method: 'POST', path });
  const paths = writing(request('issue'), [request('one'), request('other')]).map(({ path }) => path);
  const issues = ['issue', 'issue', 'issue', 'issue'];
  assert.deepEqual(paths, [...issues, 'one', ...issues, 'other']);
});
