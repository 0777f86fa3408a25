import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentlyUsed } from '../src/platform/cache.ts';

const LIMIT = 100;

function known(memory: RecentlyUsed<number>, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter(
    (index) => memory.get(`${index}`) !== undefined,
  );
}

test('recently used values stay, half of the limit at least and the limit at most', () => {
  for (const most of [2, 3, 99, 2 * LIMIT]) {
    const memory = new RecentlyUsed<number>(most);
    const half = Math.floor(most / 2);
    for (let index = 0; index < 10 * most; index++) {
      memory.set(`${index}`, index);
      assert.equal(memory.get(`${index}`), index);
    }
    for (let index = 10 * most - half; index < 10 * most; index++)
      assert.equal(memory.get(`${index}`), index);
    assert.ok(known(memory, 10 * most).length <= most, `${most}`);
  }
});

test('a limit of 0 or 1 keeps nothing', () => {
  for (const most of [0, 1]) {
    const memory = new RecentlyUsed<number>(most);
    memory.set('one', 1);
    assert.equal(memory.get('one'), undefined);
  }
});

test('what is used again and again stays, whatever comes beside it', () => {
  const memory = new RecentlyUsed<number>(2 * LIMIT);
  memory.set('kept', -1);
  for (let index = 0; index < 10 * LIMIT; index++) {
    memory.set(`${index}`, index);
    assert.equal(memory.get('kept'), -1);
  }
  memory.clear();
  assert.equal(memory.get('kept'), undefined);
  assert.deepEqual(known(memory, 10 * LIMIT), []);
});

test('a value that is set again replaces the previous one, also if that was about to leave the cache', () => {
  const memory = new RecentlyUsed<string>(4);
  memory.set('one', 'previous');
  memory.set('two', 'x');
  memory.set('three', 'x');
  memory.set('one', 'new');
  for (const _ of [1, 2, 3]) assert.equal(memory.get('one'), 'new');
});
