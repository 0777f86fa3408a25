import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InternedValues } from '../src/cache.ts';

test('of equal values one is kept, and values that are only written alike stay apart', () => {
  const values = new InternedValues();
  const first = values.of(['a', 'b']);
  assert.equal(values.of(['a', 'b']), first);
  assert.ok(Object.isFrozen(first));
  const alike: readonly unknown[] = [
    ['a'],
    '["a"]',
    { 0: 'a' },
    '{"0":"a"}',
    'a',
    '"a"',
    1,
    '1',
    true,
    'true',
    null,
  ];
  for (const _ of ['at first', 'again']) for (const value of alike) assert.deepEqual(values.of(value), value);
});

test('however many values there are, the latest are kept and the oldest are not', () => {
  const values = new InternedValues();
  const all = Array.from({ length: 5000 }, (_, count) => values.of({ count }));
  for (const [count, value] of all.entries()) assert.deepEqual(value, { count });
  assert.notEqual(values.of({ count: 0 }), all[0]);
  assert.equal(values.of({ count: 4999 }), all[4999]);
});
