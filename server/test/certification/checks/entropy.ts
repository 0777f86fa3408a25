import assert from 'node:assert/strict';

/** The minimum bits of entropy (RFC 6749 §10.10). */
const LEAST_BITS = 128;

/** Estimates the entropy of one sample from its character frequencies (Shannon). */
export function checkIsHardToGuess(text: string): void {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count * Math.log2(count / text.length);
  assert.ok(bits >= LEAST_BITS, `${Math.floor(bits)} bits`);
}
