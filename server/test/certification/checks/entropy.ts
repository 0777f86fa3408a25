import assert from 'node:assert/strict';

/** Bits that somebody would have to guess at least (RFC 6749 §10.10). */
const LEAST_BITS = 128;

/** As hard to guess as far as one sample can tell: by how its characters are spread (Shannon). */
export function checkIsHardToGuess(text: string): void {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count * Math.log2(count / text.length);
  assert.ok(bits >= LEAST_BITS, `${Math.floor(bits)} bits`);
}
