import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofMany } from '../works/memory.ts';

const named = (kind: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${kind}-${index}`);

test('of many tokens two thirds are opaque, and tokens of users come before those of machines', () => {
  const tokens = ofMany(3, {
    opaque: named('opaque', 9),
    people: named('person', 2),
    machines: named('machine', 3),
  });
  assert.deepEqual(tokens, [
    ...['person-0', 'opaque-0', 'opaque-1'],
    ...['person-1', 'opaque-2', 'opaque-3'],
    ...['machine-0', 'opaque-4', 'opaque-5'],
  ]);
});
