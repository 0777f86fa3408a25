import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newIdentifier } from '../src/tokens/opaque_token.ts';

test('no identifier begins with a dash, which a command would take for a flag', () => {
  const drawn = (first: number) => newIdentifier((bytes) => new Uint8Array(bytes).fill(first, 0, 1));
  assert.equal(drawn(0b111110_00), `_${'A'.repeat(21)}`);
  assert.equal(drawn(0b111101_00), `9${'A'.repeat(21)}`);
});
