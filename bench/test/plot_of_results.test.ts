import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plotOf } from '../report/plot_of_results.ts';
import type { ContestantResult, RunResults } from '../report/results.ts';
import { spread } from '../statistics.ts';

function result(perSecond: number): ContestantResult {
  const still = spread([1]);
  return {
    perSecond: spread([perSecond]),
    perSecondOfRounds: [perSecond],
    ofBare: spread([perSecond / 1000]),
    p50Ms: still,
    p99Ms: still,
  };
}

function work(title: string, rates: Readonly<Record<string, number>>) {
  const contestants = Object.entries(rates).map(([name, rate]) => [name, result(rate)] as const);
  return { title, connections: 32, contestants: Object.fromEntries(contestants) };
}

const RESULTS: RunResults = {
  startedAt: '2026-01-01T00:00:00.000Z',
  revision: undefined,
  machine: { processor: 'P', cores: 2, memoryBytes: 1, system: 'S', node: '26.0.0', pinned: true },
  generator: 'wrk',
  rounds: 3,
  seconds: 5,
  warmUpSeconds: 8,
  failed: {},
  othersCpu: {},
  sizes: { records: 1000, tokens: 100, personal: 10 },
  works: {
    'introspection-jwt': work('introspection', {
      grantd: 500,
      'grantd --log off': 550,
      bare: 1000,
      'oidc-provider': 100,
      'oidc-provider, SQLite': 80,
    }),
    growth: work('growth', { '10 records': 900, '100 records': 800 }),
    'introspection-postgres': work('PostgreSQL', { grantd: 700, bare: 1000 }),
    'refresh-postgres': work('PostgreSQL', { grantd: 500, bare: 1000 }),
    'revocation-postgres': work('PostgreSQL', { grantd: 600, bare: 1000 }),
    'refresh-token': work('refresh', { grantd: 50, bare: 1000 }),
  },
};

test('a run is shown by what grantd as it is installed and peers with the same storage did beside the same bare server', () => {
  assert.match(
    plotOf(RESULTS),
    / introspection: grantd 0\.50, oidc-provider, SQLite 0\.08; goal of grantd 0\.35\. refresh: grantd 0\.05\.<\/desc>/,
  );
});

test('a picture says which command has made it, and how often was measured', () => {
  assert.ok(plotOf(RESULTS).includes('npm run bench, 2026-01-01, Node 26.0.0; medians of 3 rounds'));
});
