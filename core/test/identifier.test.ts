import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../src/platform/environment.ts';
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

test('the system’s generator returns as many bytes as asked for, never the same ones, and keeps none of them', (t) => {
  const fetched: Uint8Array[] = [];
  const { getRandomValues } = crypto;
  t.mock.method(crypto, 'getRandomValues', (bytes: Uint8Array) => {
    fetched.push(bytes);
    return getRandomValues.call(crypto, bytes);
  });
  const random = systemRandom();
  // 32 bytes do not divide what one call fetches after 16 of them.
  const values = [random(16), ...Array.from({ length: 1000 }, () => random(32)), random(10_000), random(0)];
  assert.deepEqual([...new Set(values.map(({ length }) => length))], [16, 32, 10_000, 0]);
  const pieces = values.flatMap((value) => Buffer.from(value).toString('hex').match(/.{32}/g) ?? []);
  assert.equal(new Set(pieces).size, 1 + 1000 * 2 + 10_000 / 16);
  for (const value of values) for (const pool of fetched) assert.notEqual(value.buffer, pool.buffer);
  const [first] = fetched;
  assert.ok(first?.subarray(0, -31).every((byte) => byte === 0));
  assert.ok(fetched.length < 20, `${fetched.length} calls`);
});
