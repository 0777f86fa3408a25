import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outlivesRun } from '../subjects/peer_state.ts';

const DAY_MS = 86_400_000;

for (const [days, isKept] of [
  [0, true],
  [27, true],
  [28, false],
  [31, false],
] as const)
  test(`tokens of peers that live for 30 days are ${isKept ? 'kept' : 'made anew'} after ${days} days`, () => {
    assert.equal(outlivesRun(0, days * DAY_MS), isKept);
  });
