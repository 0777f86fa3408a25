import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparisonLine } from '../report/comparison.ts';

test('two versions are compared round by round, and the median of the ratios is reported', () => {
  const measured = (contestant: string, rates: readonly number[]) =>
    rates.map((perSecond, round) => ({ contestant, round, perSecond }));
  // The machine was twice as fast in the last round. No ratio mixes two rounds.
  const rounds = [...measured('this one', [100, 120, 220]), ...measured('v1', [100, 100, 200])];
  assert.equal(
    comparisonLine('introspection', rounds, ['this one', 'v1']),
    'introspection: 1.100 times (1.000 to 1.200 in 3 rounds; 120/s this one, 100/s v1)',
  );
});
