import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RestartPauses } from '../src/serve/supervisor.ts';

test('the first death is answered at once, each that follows soon after twice as late, at most after ten seconds', () => {
  const pauses = new RestartPauses();
  const found = Array.from({ length: 10 }, (_, index) => pauses.after(index * 1000));
  assert.deepEqual(found, [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('a worker that has served for ten seconds is replaced at once again', () => {
  const pauses = new RestartPauses();
  for (let count = 0; count < 5; count += 1) pauses.after(0);
  assert.deepEqual([pauses.after(9999), pauses.after(10_000), pauses.after(0)], [1600, 0, 100]);
});
