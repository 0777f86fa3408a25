import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ceilingOfTheMix } from '../report/ceiling_of_the_mix.ts';
import { goalResults } from '../report/goals.ts';
import { type ContestantResult, type RunResults, workResult } from '../report/results.ts';
import { tables } from '../report/tables.ts';
import type { Measurement } from '../running.ts';
import { spread } from '../statistics.ts';
import { primitivesWith } from './primitives_with.ts';

function measurement(contestant: string, round: number, perSecond: number): Measurement {
  const latencyMs = { p50: 1, p90: 2, p99: 3, max: 4 };
  return {
    round,
    contestant,
    perSecond,
    load: {
      generator: 'wrk',
      sent: 1,
      right: {},
      wrong: 0,
      errors: 0,
      seconds: 5,
      latencyMs,
      generatorCpu: 0.5,
    },
    serverCpu: 1,
    othersCpu: 0,
    residentBytes: undefined,
    warmUpSeconds: { own: 2, other: 6.25 },
  };
}

/** Each contestant with its result in each round. */
function results(works: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>): RunResults {
  const measured = Object.entries(works).map(([name, rates]) => {
    const measurements = Object.entries(rates).flatMap(([contestant, rounds]) =>
      rounds.map((perSecond, round) => measurement(contestant, round, perSecond)),
    );
    return [name, workResult({ title: name, connections: 32 }, measurements)] as const;
  });
  return {
    startedAt: '2026-01-01T00:00:00.000Z',
    revision: undefined,
    machine: { processor: 'P', cores: 2, memoryBytes: 1, system: 'S', node: '26', pinned: true },
    generator: 'wrk',
    rounds: 2,
    seconds: 5,
    warmUpSeconds: 8,
    failed: {},
    othersCpu: {},
    sizes: { records: 1000, tokens: 100, personal: 10 },
    works: Object.fromEntries(measured),
  };
}

const valuesOf = (run: RunResults) =>
  goalResults(run)
    .filter(({ value }) => value !== undefined)
    .map(({ work, of, value, isMet }) => [work, of, value, isMet]);

test('the ratio to bare is that of each round', () => {
  const { works } = results({ 'introspection-jwt': { grantd: [600, 500, 700], bare: [1000, 2000, 1000] } });
  assert.deepEqual(works['introspection-jwt']?.contestants.grantd?.ofBare, {
    median: 0.6,
    min: 0.25,
    max: 0.7,
  });
});

test('introspection is held against oidc-provider, the fastest peer and CPU time', () => {
  const rates = {
    grantd: [600],
    bare: [1000],
    'oidc-provider': [120],
    peer: [250],
    'grantd --log off': [700],
  };
  const run = results({ 'introspection-jwt': rates });
  const ratios = [
    ['introspection-jwt', 'times oidc-provider', 5, true],
    ['introspection-jwt', 'times the fastest peer', 2.4, false],
  ];
  const [overPeer, overFastest] = ratios;
  const withCpu = (microseconds: number) => {
    const work = run.works['introspection-jwt'];
    const grantd = work?.contestants.grantd;
    if (work === undefined || grantd === undefined) throw new Error('nothing was measured');
    const contestants = { ...work.contestants, grantd: { ...grantd, cpuUs: spread([microseconds]) } };
    return { ...run, works: { 'introspection-jwt': { ...work, contestants } } };
  };
  for (const [microseconds, isMet] of [
    [36, true],
    [37, false],
  ] as const)
    assert.deepEqual(valuesOf(withCpu(microseconds)), [
      overPeer,
      ['introspection-jwt', 'µs of CPU time per request', microseconds, isMet],
      overFastest,
    ]);
});

test('the share of bare beside a writer is held against that without one', () => {
  const run = results({
    'introspection-jwt': { grantd: [500], bare: [1000] },
    'introspection-jwt-beside-writer': { grantd: [400], bare: [1000] },
  });
  assert.deepEqual(valuesOf(run).at(-1), [
    ...[
      'introspection-jwt-beside-writer',
      'of the ratio to bare that is reached without a writer',
      0.8,
      false,
    ],
  ]);
});

test('growth compares the largest database with the smallest if neither caches a record', () => {
  const run = results({
    growth: {
      '10 records, refresh tokens': [1000],
      '10 records, access tokens': [2000],
      '100 records, refresh tokens': [950],
      '100 records, access tokens': [1900],
      '1,000 records, refresh tokens': [800],
      '1,000 records, access tokens': [900],
    },
  });
  assert.deepEqual(valuesOf(run), [
    ['growth', 'of the throughput with 1,000 times as many records, none cached', 0.8, false],
    ['growth', 'times the 99th percentile with 1,000 times as many records, none cached', 1, true],
    ['growth', 'of the throughput with 1,000 times as many records, fewer of them cached', 0.45, undefined],
  ]);
});

test('many tokens in use are held against a tenth of them, in throughput and in memory', () => {
  const run = results({
    'introspection-many': { grantd: [790, 810, 800], 'grantd, a tenth in use': [1000, 1000, 1000] },
  });
  const many = run.works['introspection-many'];
  const { grantd, 'grantd, a tenth in use': tenth } = many?.contestants ?? {};
  if (many === undefined || grantd === undefined || tenth === undefined)
    throw new Error('nothing was measured');
  const mebibytes = (count: number) => ({ residentBytes: spread([count * 2 ** 20]) });
  const withMemory = (all: number) => ({
    ...run,
    works: {
      'introspection-many': {
        ...many,
        contestants: {
          grantd: { ...grantd, ...mebibytes(all) },
          'grantd, a tenth in use': { ...tenth, ...mebibytes(150) },
        },
      },
    },
  });
  const throughput = ['introspection-many', 'of the throughput with a tenth of the tokens', 0.8, true];
  const memory = ['introspection-many', 'MiB resident more than with a tenth of the tokens'];
  assert.deepEqual(valuesOf(withMemory(400)), [throughput, [...memory, 250, true]]);
  assert.deepEqual(valuesOf(withMemory(401)), [throughput, [...memory, 251, false]]);
  assert.deepEqual(valuesOf(run), [throughput], 'memory that the system does not report is not judged');
});

test('on PostgreSQL, reading and writing are held against oidc-provider on PostgreSQL', () => {
  const peer = 'oidc-provider, PostgreSQL';
  const run = results({
    'introspection-postgres': { grantd: [300], [peer]: [100], 'oidc-provider': [1] },
    'refresh-opaque-postgres': { grantd: [299], [peer]: [100] },
    'revocation-postgres': { grantd: [350], [peer]: [100] },
  });
  assert.deepEqual(valuesOf(run), [
    ['introspection-postgres', `times ${peer}`, 3, true],
    ['refresh-opaque-postgres', `times ${peer}`, 2.99, false],
    ['revocation-postgres', `times ${peer}`, 3.5, true],
  ]);
});

test('an open loop is held against milliseconds, and sweeping against rest, if the generator kept the rate', () => {
  const measured = (p99: number, lag = 0.1) => ({
    ...{ rate: 5000, arrivals: 100_000, writes: 5000, wrong: 0, errors: 0, seconds: 20 },
    latencyMs: { p50: 1, p99, p999: 10, max: 51 },
    lagMs: { p50: 0, p99: lag, p999: lag, max: lag },
  });
  const withLoop = (lag?: number) => ({
    ...results({}),
    openLoop: {
      maximumPerSecond: 12_345,
      rest: measured(4),
      sweeping: { ...measured(5, lag), sweptTokens: 600_000 },
    },
  });
  assert.deepEqual(valuesOf(withLoop()), [
    ['open-loop', 'ms at the 99th percentile', 4, true],
    ['open-loop', 'ms at the 99.9th percentile', 10, true],
    ['open-loop', 'ms at the slowest', 51, false],
    ['open-loop', 'times the 99th percentile while expired rows are swept', 1.25, false],
  ]);
  const told = tables(withLoop());
  assert.match(told, /\| open loop \(of 12345\) .*swept tokens \|\n/);
  assert.match(told, /\| sweeping +\| 5000 +\| 100000 .* 0\.10 +\| 600000 +\|\n/);
  assert.match(told, /slowest +\| 51 +\| not met +\|/);
  const late = tables(withLoop(2));
  assert.match(late, /\| 2\.00 \(!\) +\| 600000 /);
  assert.match(late, /99th percentile +\| 4\.00 +\| met +\|/, 'what does not rest on that phase is judged');
  assert.equal(late.match(/no verdict: the generator did not keep the rate/g)?.length, 1);
});

test('a sign-in is held against milliseconds, in the median of its batches', () => {
  const run = { ...results({}), signIn: { cpuMs: spread([2.9, 3.5, 8]), flows: 600 } };
  assert.deepEqual(valuesOf(run), [['sign-in', 'ms of CPU time, without the password hash', 3.5, true]]);
  assert.match(tables(run), /\| 600 +\| 3\.50 +\| 2\.90 \| 8\.00 \|/);
});

test('cold introspection is held against bare, a verification and a look-up', () => {
  const run = results({ 'introspection-cold-es256': { grantd: [4000], bare: [10_000] } });
  const primitives = primitivesWith({ verifyEs256: 90, lookUp: 10 });
  assert.deepEqual(valuesOf({ ...run, primitives }), [
    ['introspection-cold-es256', 'of the ceiling', 0.8, true],
  ]);
});

test('revocation is held against commits, and many at once also against opaque introspection', () => {
  const run = results({
    'introspection-opaque': { grantd: [2000], bare: [4000] },
    'revocation-1': { grantd: [600] },
    'revocation-64': { grantd: [1200] },
  });
  const primitives = primitivesWith({ commit: 1000 });
  assert.deepEqual(valuesOf({ ...run, primitives }), [
    ['revocation-1', 'of the commit rate of the file', 0.6, true],
    [
      'revocation-64',
      'of 3 times the commit rate, or of half the rate of `introspection-opaque` if that is lower',
      1.2,
      true,
    ],
  ]);
});

for (const [commitsPerSecond, writes] of [
  [undefined, 1.6],
  [50, 1.6],
  [10, 5],
] as const)
  test(`if the mix makes ${commitsPerSecond} commits for its 50 writes, ${writes} share one in its ceiling`, () => {
    const run = results({ mix: { grantd: [1000], bare: [10_000] } });
    const primitives = primitivesWith({ lookUp: 10, signEs256: 50, insert: 20, commit: 1600 });
    const { mix } = run.works;
    const grantd = mix?.contestants.grantd;
    if (mix === undefined || grantd === undefined) throw new Error('nothing was measured');
    const committing = {
      ...grantd,
      ...(commitsPerSecond !== undefined && { commitsPerSecond: spread([commitsPerSecond]) }),
    };
    const works = { mix: { ...mix, contestants: { ...mix.contestants, grantd: committing } } };
    const share = 1600 / writes;
    const microseconds = 0.95 * 110 + 0.04 * (100 + 50 + 20 + share) + 0.01 * (110 + 20 + share);
    const ceiling = ceilingOfTheMix({ ...run, works, primitives }) ?? Number.NaN;
    assert.ok(Math.abs(ceiling - 1e6 / microseconds) < 1e-6);
  });

test('two workers are held against twice what one core could do, with the commits that they made themselves', () => {
  const primitives = primitivesWith({ lookUp: 10, signEs256: 50, insert: 20, commit: 1600 });
  const run = {
    ...results({ mix: { grantd: [1000], 'grantd, 2 workers': [1800], bare: [10_000] } }),
    primitives,
  };
  const [mix] = Object.values(run.works);
  const workers = mix?.contestants['grantd, 2 workers'];
  if (mix === undefined || workers === undefined) throw new Error('nothing was measured');
  const committing = { ...workers, commitsPerSecond: spread([9]) }; // of 90 writes
  const works = { mix: { ...mix, contestants: { ...mix.contestants, 'grantd, 2 workers': committing } } };
  const microseconds = 0.95 * 110 + 0.04 * (100 + 50 + 20 + 160) + 0.01 * (110 + 20 + 160);
  const two = goalResults({ ...run, works }).find(
    ({ of }) => of === 'of twice the ceiling of one core, 2 workers',
  );
  assert.ok(Math.abs((two?.value ?? Number.NaN) - 1800 / ((2 * 1e6) / microseconds)) < 1e-9);
});

test('refreshes and code exchanges are held against oidc-provider, with the most that signing allows', () => {
  const rates = { grantd: [900], 'grantd, 2 cores': [1500], bare: [10_000], 'oidc-provider': [1000] };
  const run = {
    ...results({ 'refresh-token': rates, 'code-exchange': rates }),
    primitives: primitivesWith({ signRs256: 300 }),
  };
  const twoCores = 'times one core, one process on 2 cores';
  assert.deepEqual(valuesOf(run), [
    ['refresh-token', 'times oidc-provider', 0.9, false],
    ['refresh-token', twoCores, 1500 / 900, true],
    ['code-exchange', 'times oidc-provider', 0.9, false],
    ['code-exchange', twoCores, 1500 / 900, true],
  ]);
  // 100 µs for the exchange, and 300 for each signature.
  const text = tables(run);
  assert.match(
    text,
    /\| refresh-token +\| at least 1 times oidc-provider +\| 0\.900 \(at most 1\.429\) \| not met \|/,
  );
  assert.match(
    text,
    /\| code-exchange +\| at least 1\.2 times oidc-provider +\| 0\.900 \(at most 2\.50\) +\| not met \|/,
  );
});

test('two workers are not judged if the generator has no core of its own', () => {
  const run = results({ mix: { grantd: [1000], 'grantd, 2 workers': [1200] } });
  const verdictsOf = (cores: number) => tables({ ...run, machine: { ...run.machine, cores } });
  assert.match(verdictsOf(2), /no verdict: the generator shares their cores, and takes up to 50 % of one/);
  assert.match(verdictsOf(4), /at least 1\.7 times one process, 2 workers \| 1\.200 {2}\| not met \|/);
});

test('what could not be measured is reported', () => {
  const text = tables({ ...results({}), failed: { mix: 'grantd answered nothing' } });
  assert.match(text, /\| mix +\| grantd answered nothing \|$/);
});

test('the tables have a row for each program, and one for each goal of what was measured', () => {
  const text = tables(results({ userinfo: { grantd: [500], bare: [1000], 'oidc-provider': [250] } }));
  assert.deepEqual(text.split('\n\n').at(-1)?.split('\n'), [
    '| work     | goal                           | result |         |',
    '| -------- | ------------------------------ | ------ | ------- |',
    '| userinfo | at least 3 times oidc-provider | 2.00   | not met |',
  ]);
  assert.match(text, /^\| {20}\| bare {10}\| 1000 \(1000 to 1000\) \| 1\.000 \(1\.000 to 1\.000\) \|/m);
});

test('no goal is judged if the generator was the bottleneck instead of the server', () => {
  const run = results({ userinfo: { grantd: [900], bare: [1000], 'oidc-provider': [300] } });
  const userinfo = run.works.userinfo;
  const bare = userinfo?.contestants.bare;
  if (userinfo === undefined || bare === undefined) throw new Error('nothing was measured');
  const busy = { ...bare, generatorCpu: { median: 0.8, min: 0.7, max: 0.95 } };
  const told = (bare: ContestantResult) => {
    const contestants = { ...userinfo.contestants, bare };
    return tables({ ...run, works: { userinfo: { ...userinfo, contestants } } });
  };
  const text = told({ ...busy, serverCpu: spread([0.8]) });
  assert.match(text, / 95 % \(!\) /);
  assert.match(
    text,
    /at least 3 times oidc-provider \| 3\.00 {3}\| no verdict: the generator was too slow \|$/,
  );
  assert.match(told(busy), / 95 % .* met +\|$/s);
  assert.match(
    told({ ...bare, othersCpu: spread([0.4]) }),
    /no verdict: other programs kept the machine busy \|$/,
  );
});

test('no goal is judged if other processes were busy during a measurement that it depends on', () => {
  const run = results({ 'revocation-1': { grantd: [900] } });
  const primitives = primitivesWith({ commit: 1000 });
  const told = (name: string, share: number) => tables({ ...run, primitives, othersCpu: { [name]: share } });
  assert.match(told('parts of ceilings', 0.2), /no verdict: other programs kept the machine busy \|$/);
  assert.match(told('parts of ceilings', 0.19), / met +\|$/);
  assert.match(told('memory', 0.5), / met +\|$/);

  const memory = { atStart: 1, afterPasses: [1, 1, 1] };
  const remembered = { ...results({}), memory, start: spread([100]) };
  const verdicts = (name: string) => tables({ ...remembered, othersCpu: { [name]: 0.5 } });
  assert.match(
    verdicts('memory'),
    /MiB resident .*no verdict.*\n.*no verdict.*\n.*first correct response.* met/,
  );
  assert.match(verdicts('start'), /MiB resident .* met .*\n.* met .*\n.*first correct response.* no verdict/);
});

test('what has no goal is shown without a verdict', () => {
  const run = results({
    growth: { '10 records, access tokens': [1000], '100 records, access tokens': [550] },
  });
  assert.match(
    tables(run),
    /\| growth \| \(no goal\) of the throughput .* fewer of them cached \| 0\.550 {2}\| +\|$/,
  );
});

test('the warm-up of each program is reported, its own requests separately', () => {
  assert.match(tables(results({ userinfo: { grantd: [500] } })), / 2\.0 \+ 6\.3 \|$/m);
});
