import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { EndingTable, keyNumber } from '../src/ending_table.ts';

/** A key of 48 random bits, always the same for the same number. */
function keyAt(at: number): number {
  const key = createHash('sha256').update(String(at)).digest('base64url').slice(0, 8);
  return keyNumber(key) ?? assert.fail(key);
}

test('a key is read as 48 bits, and nothing else is a key', () => {
  assert.equal(keyNumber('AAAAAAAA'), 0);
  assert.equal(keyNumber('AAAAAAAB'), 1);
  assert.equal(keyNumber('--------'), 62 * ((64 ** 8 - 1) / 63));
  assert.equal(keyNumber('________'), 2 ** 48 - 1);
  for (const text of ['', 'AAAAAAA', 'AAAAAAAAA', 'AAAAAAA=', 'AAAA+AAA', 'ÄAAAAAAA'])
    assert.equal(keyNumber(text), undefined, text);
});

test('it holds the last position of each key, until the key is no longer needed', () => {
  const table = new EndingTable();
  const expected = new Map<number, { position: number; until: number }>();
  for (let at = 0; at < 20_000; at++) {
    const key = at % 50 === 0 ? Math.floor(at / 100) % 3 : keyAt(at % 7000);
    const [position, until] = [at + 1, 1000 + (at % 500)];
    table.set(key, position, until);
    expected.set(key || 1, { position, until });
    if (at % 3000 !== 0) continue;
    const now = 1000 + (at % 400);
    table.forget(now);
    for (const [known, { until }] of expected) if (until <= now) expected.delete(known);
  }
  assert.equal(table.size, expected.size);
  for (let at = 0; at < 7000; at++) {
    const key = keyAt(at);
    assert.equal(table.positionOf(key), expected.get(key)?.position ?? 0);
  }
  table.clear();
  assert.equal(table.size, 0);
  assert.equal(table.positionOf(keyAt(1)), 0);
});

test('a million endings take at most 64 bytes each', () => {
  const table = new EndingTable();
  for (let at = 0; at < 1_000_000; at++) table.set(at * 4_294_967 + 1, at + 1, 1000);
  assert.equal(table.size, 1_000_000);
  assert.ok(table.bytes <= 64 * table.size, `${table.bytes / table.size} bytes`);
});
