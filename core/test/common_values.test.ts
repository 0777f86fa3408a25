import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommonValues } from '../src/protocol/common_values.ts';

test('of equal values one is kept, and values that are only written alike stay apart', () => {
  const values = new CommonValues();
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

test('however many values there are, each is answered', () => {
  const values = new CommonValues();
  for (let count = 0; count < 3000; count++) assert.deepEqual(values.of({ count }), { count });
  assert.deepEqual(values.of({ count: 2999 }), { count: 2999 });
});
