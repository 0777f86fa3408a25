import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiChecksRows, apiChecksTable } from '../report/api_checks.ts';
import { spread } from '../statistics.ts';
import type { ApiChecks } from '../works/api_checks.ts';

const figures = (perSecond: number, cpuUs: readonly number[]) => ({
  perSecond: spread([perSecond]),
  ofUnchecked: spread([perSecond / 20_000]),
  cpuUs: spread(cpuUs),
});

const CHECKS: ApiChecks = {
  'grantd none': figures(20_000, [30]),
  'grantd follower': figures(16_000, [35, 33, 40]),
  'grantd introspected': figures(1600, [450]),
  'oidc-provider introspected': figures(1500, [400]),
};

test('the table has what an API pays with the tokens of each server, and when it sees a revocation', () => {
  const lines = apiChecksTable(CHECKS)?.split('\n') ?? [];
  assert.equal(lines[0]?.split(' | ').length, lines[2]?.split(' | ').length);
  assert.deepEqual(lines.slice(2, 5), [
    '| it introspects the token over HTTP | at once | 1,600 | 450 µs (450 to 450) | 1,500 | 400 µs (400 to 400) |',
    '| it remembers introspections for 60 s | after up to 60 s | – | – | – | – |',
    '| it follows what ends | within a moment | 16,000 | 35 µs (33 to 40) | – | – |',
  ]);
  assert.equal(apiChecksTable(undefined), undefined);
});

test('the chart has a row for each measured way, relative to the API that checks no token', () => {
  assert.deepEqual(
    apiChecksRows(CHECKS).map(({ label, bars }) => [label, bars[0]?.ratio]),
    [
      ['an API that introspects the token over HTTP', 0.08],
      ['an API that follows what ends', 0.8],
    ],
  );
});
