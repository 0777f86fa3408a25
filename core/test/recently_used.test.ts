import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentlyUsed } from '../src/cache.ts';

const LIMIT = 100;

function known(memory: RecentlyUsed<number>, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => memory.get(`${index}`) !== undefined,
  );
}

test('what was used last is remembered, and twice the limit at most', () => {
  const memory = new RecentlyUsed<number>(LIMIT);
  for (let index = 0; index < 10 * LIMIT; index++) {
    memory.set(`${index}`, index);
    assert.equal(memory.get(`${index}`), index);
  }
  for (let index = 9 * LIMIT; index < 10 * LIMIT; index++) assert.equal(memory.get(`${index}`), index);
  assert.ok(known(memory, 10 * LIMIT).length <= 2 * LIMIT);
});

test('what is used again and again stays, whatever comes beside it', () => {
  const memory = new RecentlyUsed<number>(LIMIT);
  memory.set('kept', -1);
  for (let index = 0; index < 10 * LIMIT; index++) {
    memory.set(`${index}`, index);
    assert.equal(memory.get('kept'), -1);
  }
  memory.clear();
  assert.equal(memory.get('kept'), undefined);
  assert.deepEqual(known(memory, 10 * LIMIT), []);
});

test('what is set again is what is answered, also where the former value was about to be forgotten', () => {
  const memory = new RecentlyUsed<string>(2);
  memory.set('one', 'former');
  memory.set('two', 'x');
  memory.set('three', 'x');
  memory.set('one', 'new');
  for (const _ of [1, 2, 3]) assert.equal(memory.get('one'), 'new');
});
