import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentile } from '../load/percentiles.ts';

test('a percentile is the smallest value that its share of all does not exceed', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(
    [0, 0.5, 0.99, 0.991, 1].map((share) => percentile(values, share)),
    [1, 50, 99, 100, 100],
  );
  assert.deepEqual(percentile([7], 0.99), 7);
  assert.deepEqual(percentile([], 0.5), Number.NaN);
});
