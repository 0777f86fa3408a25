import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestRate } from '../src/platform/cache.ts';
import { systemRandom } from '../src/platform/environment.ts';

function newRate(most: number) {
  const clock = { now: 1_000_000 };
  return { clock, rate: new RequestRate(most, () => clock.now, systemRandom()) };
}

test('a key may go as often as allowed in a minute, and then has to wait until the minute ends', () => {
  const { clock, rate } = newRate(3);
  const takes = (key: string) => Array.from({ length: 4 }, () => rate.take(key));
  assert.deepEqual(takes('a'), [0, 0, 0, 60]);
  clock.now += 30_500;
  assert.deepEqual([rate.take('a'), rate.secondsToWait('b')], [30, 0]);
  clock.now += 29_500;
  assert.deepEqual(takes('a'), [0, 0, 0, 60]);
  clock.now -= 3_600_000;
  assert.equal(rate.take('a'), 0, 'a clock that was set back');
});

test('0 sets no limit', () => {
  const { rate } = newRate(0);
  for (let times = 0; times < 10_000; times++) assert.equal(rate.take('a'), 0);
});

test('a sender with a hundred thousand keys neither makes a count forgotten nor stops others', () => {
  const { rate } = newRate(100);
  for (let times = 0; times < 100; times++) assert.equal(rate.take('attacker'), 0);
  for (let number = 0; number < 100_000; number++) rate.take(`key ${number}`);
  assert.equal(rate.take('attacker'), 60);
  for (let number = 0; number < 1000; number++) assert.equal(rate.take(`other ${number}`), 0);
});
