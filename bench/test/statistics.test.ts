import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spread } from '../statistics.ts';

test('the median of an odd number of rounds is the one in the middle', () => {
  assert.deepEqual(spread([30, 10, 20]), { median: 20, min: 10, max: 30 });
});

test('the median of an even number of rounds is between the two in the middle', () => {
  assert.deepEqual(spread([40, 10, 20, 30]), { median: 25, min: 10, max: 40 });
});

test('there is no median of nothing', () => {
  assert.throws(() => spread([]), new RangeError('there is no median of nothing'));
});
