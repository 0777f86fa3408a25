import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newIdentifier, newTimedIdentifier } from '../src/tokens/opaque_token.ts';

test('no identifier begins with a dash, which a command would take for a flag', () => {
  const drawn = (first: number) => newIdentifier((bytes) => new Uint8Array(bytes).fill(first, 0, 1));
  assert.equal(drawn(0b111110_00), `_${'A'.repeat(21)}`);
  assert.equal(drawn(0b111101_00), `9${'A'.repeat(21)}`);
});

test('identifiers of what is written as it is made are in the order of the clock, and 128 random bits each', () => {
  const drawn = (clock: number, random: number) =>
    newTimedIdentifier({ clock: () => clock, random: (bytes) => new Uint8Array(bytes).fill(random) });
  const [begin, end] = [Date.UTC(2026), Date.UTC(2059)];
  assert.equal(drawn(begin, 0), `mjuohs00${'A'.repeat(22)}`);
  assert.equal(drawn(begin + 0.5, 0), drawn(begin, 0));
  for (let clock = begin; clock < end; clock += (end - begin) / 1000)
    assert.ok(drawn(clock, 255) < drawn(clock + 1, 0), `at ${clock}`);
});
