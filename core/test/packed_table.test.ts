import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { PackedTable, type Packing } from '../src/platform/cache.ts';

const TEXTS: Packing<string> = { pack: (value) => value, unpack: (text) => text };
const NUMBERS: Packing<number> = { pack: String, unpack: Number };

/** Texts that differ only in parts that are not hashed, or only slightly. */
const ALIKE = ['', 'a', 'aa', 'b', 'same-ending', 'other-same-ending', 'x'.repeat(100), `y${'x'.repeat(99)}`];

test('a table returns what was set last under a text, as a Map does, however many there are', () => {
  const names = [...ALIKE, ...Array.from({ length: 20_000 }, () => randomBytes(16).toString('base64url'))];
  const [table, map] = [new PackedTable(NUMBERS), new Map<string, number>()];
  for (const [index, name] of [...names, ...names.slice(0, 5000)].entries()) {
    table.set(name, index);
    map.set(name, index);
  }
  assert.equal(table.size, map.size);
  for (const name of names) assert.equal(table.get(name), map.get(name));
  assert.equal(table.get('unknown'), undefined);
});

test('texts that share a slot are distinguished', () => {
  const names = Array.from({ length: 500 }, (_, index) => `${1000 + index}-of-one-ending`);
  const table = new PackedTable(TEXTS);
  for (const name of names) table.set(name, `value of ${name}`);
  for (const name of names) assert.equal(table.get(name), `value of ${name}`);
  assert.equal(table.get('9999-of-one-ending'), undefined);
});

test('what is deleted is gone until it is set again, and nothing else is', () => {
  const table = new PackedTable(NUMBERS);
  for (const [index, name] of ALIKE.entries()) table.set(name, index);
  table.delete('aa');
  table.delete('unknown');
  assert.deepEqual(
    ALIKE.map((name) => table.get(name)),
    ALIKE.map((name, index) => (name === 'aa' ? undefined : index)),
  );
  table.set('aa', 100);
  assert.equal(table.get('aa'), 100);
});

test('keys and texts of any length and any characters come back whole, or not at all', () => {
  const table = new PackedTable(TEXTS);
  const lengths = [1, 2, 255, 256, 257, 3000, 9990, 10_001, 70_000];
  const texts = ['x', 'ä', '€', '\ufeff', '😀', '\ud800'].flatMap((one) =>
    lengths.map((length) => one.repeat(length)),
  );
  const keys = ['', 'ä', 'a\n', '\u007f', 'long'.repeat(30)];
  const entries = texts.flatMap((text, index) => keys.map((key) => [`${key}${index}`, text] as const));
  for (const _ of [1, 2]) for (const [key, text] of entries) table.set(key, text);
  for (const [key, text] of entries) {
    const isKept = /^[\x20-\x7e]*$/.test(key) && key.length + text.length <= 10_000;
    assert.equal(table.get(key), isKept ? text.toWellFormed() : undefined);
  }
  assert.ok(table.size <= entries.length);
});

test('a value that the table cannot keep replaces the previous one too', () => {
  const table = new PackedTable(TEXTS);
  table.set('key', 'short');
  table.set('key', 'x'.repeat(70_000));
  assert.equal(table.get('key'), undefined);
  table.set('key', 'short again');
  assert.equal(table.get('key'), 'short again');
});
