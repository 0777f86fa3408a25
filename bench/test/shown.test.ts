import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunResults, workResult } from '../report/results.ts';
import { shownTable } from '../report/shown.ts';
import { tables } from '../report/tables.ts';
import type { Measurement } from '../running.ts';

interface Round {
  readonly perSecond: number;
  /** Shares of a core. */
  readonly serverCpu?: number;
  readonly othersCpu?: number;
  readonly generatorCpu?: number;
}

function work(contestants: Readonly<Record<string, readonly Round[]>>) {
  const measurements = Object.entries(contestants).flatMap(([contestant, rounds]) =>
    rounds.map(
      ({ perSecond, serverCpu = 1, othersCpu = 0.01, generatorCpu = 0.2 }, round): Measurement => ({
        ...{ round, contestant, perSecond, serverCpu, othersCpu, residentBytes: undefined },
        load: {
          ...{ generator: 'wrk', sent: 1, right: {}, wrong: 0, errors: 0, seconds: 1, generatorCpu },
          latencyMs: { p50: 1, p90: 2, p99: 3, max: 4 },
        },
        warmUpSeconds: { own: 2, other: 0 },
      }),
    ),
  );
  return workResult({ title: 'title', connections: 32 }, measurements);
}

function run(works: RunResults['works']): RunResults {
  return {
    ...{ startedAt: '2026-01-01T00:00:00.000Z', revision: 'aaa', generator: 'wrk', rounds: 3, seconds: 1 },
    machine: { processor: 'P', cores: 2, memoryBytes: 1, system: 'S', node: '26', pinned: true },
    ...{ warmUpSeconds: 1, sizes: { records: 1000, tokens: 100, personal: 10 }, isComparison: true },
    ...{ works, failed: {}, othersCpu: {} },
  };
}

const rounds = (...rates: readonly number[]) => rates.map((perSecond) => ({ perSecond }));

const REFRESH = work({
  grantd: rounds(1000, 1200, 2000),
  'oidc-provider': rounds(9000, 9000, 9000),
  'oidc-provider, SQLite': rounds(500, 400, 800),
  'better-auth, SQLite': rounds(50, 60, 100),
});

test('a row compares grantd with the peers of the same storage, round by round, with the CPU time of each', () => {
  assert.deepEqual(
    shownTable(run({ 'refresh-token-opaque': REFRESH }))
      ?.split('\n')
      .slice(0, 3),
    [
      '| request | storage | grantd | times oidc-provider | times @jmondi/oauth2-server | times better-auth |',
      '| --- | --- | --- | --- | --- | --- |',
      '| refresh | SQLite | 1,200 a second, 833 µs | 2.5 (2.0 to 3.0), 2,000 µs | – | 20 (20 to 20), 16,667 µs |',
    ],
  );
});

test('the table tells how far the rounds were apart, and what others used', () => {
  assert.equal(
    shownTable(run({ 'refresh-token-opaque': REFRESH }))
      ?.split('\n')
      .at(-1),
    'Commit aaa, 2026-01-01, P, Node 26; 3 rounds of 1 s. A ratio in one round differed from its median by up to 25 % ' +
      '(refresh, SQLite, oidc-provider), and other programs used up to 1 % of a core.',
  );
});

test('figures of a busy machine or of a slow generator are marked', () => {
  const disturbed = (more: Partial<Round>) => {
    const round = { perSecond: 100, ...more };
    const works = { 'revocation-64': work({ grantd: [round], 'oidc-provider, SQLite': [round] }) };
    return shownTable(run(works)) ?? '';
  };
  const [busy, slow] = [
    /Do not quote these figures/,
    /too slow for: revoke, SQLite, grantd; revoke, SQLite, oidc/,
  ];
  assert.match(disturbed({ othersCpu: 0.2 }), busy);
  assert.doesNotMatch(disturbed({ othersCpu: 0.19 }), busy);
  assert.match(disturbed({ generatorCpu: 0.95, serverCpu: 0.5 }), slow);
  assert.doesNotMatch(disturbed({ generatorCpu: 0.5, serverCpu: 0.5 }), slow);
});

test('a run without peers of the same storage has no table, and a quick one has nothing else', () => {
  const memory = { 'refresh-token-opaque': work({ grantd: rounds(1), 'oidc-provider': rounds(1) }) };
  assert.equal(shownTable(run(memory)), undefined);
  assert.doesNotMatch(tables(run({ 'refresh-token-opaque': REFRESH })), /p99/);
  assert.match(tables({ ...run({ 'refresh-token-opaque': REFRESH }), isComparison: false }), /p99/);
});
