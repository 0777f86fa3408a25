import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AttemptLimit } from '../src/people/attempt_limit.ts';

function limitAt(clock: { nowMs: number }): AttemptLimit {
  return new AttemptLimit(() => clock.nowMs);
}

test('ten attempts of a window are let through, the next one has to wait for its end', () => {
  const clock = { nowMs: 0 };
  const limit = limitAt(clock);
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(limit.begin('alice', '192.0.2.1'), 0);
  clock.nowMs = 60_000;
  assert.equal(limit.begin('alice', '192.0.2.1'), 240);
  clock.nowMs = 300_000;
  assert.equal(limit.begin('alice', '192.0.2.1'), 0);
});

test('a stranger’s attempts lock nobody out: neither from another place nor another name', () => {
  const limit = limitAt({ nowMs: 0 });
  for (let attempt = 0; attempt < 50; attempt += 1) limit.begin('alice', '203.0.113.9');
  assert.equal(limit.begin('alice', '192.0.2.1'), 0);
  assert.equal(limit.begin('alice', 'known browser'), 0);
  assert.equal(limit.begin('bob', '203.0.113.9'), 0);
});

test('signing in ends the count', () => {
  const limit = limitAt({ nowMs: 0 });
  for (let attempt = 0; attempt < 9; attempt += 1) limit.begin('alice', '192.0.2.1');
  limit.succeeded('alice', '192.0.2.1');
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(limit.begin('alice', '192.0.2.1'), 0);
});
