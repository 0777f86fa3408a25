import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { TextTable } from '../src/cache.ts';

/** Texts that differ only in parts that are not hashed, or only slightly. */
const ALIKE = ['', 'a', 'aa', 'b', 'same-ending', 'other-same-ending', 'x'.repeat(100), `y${'x'.repeat(99)}`];

test('a table returns what was set last under a text, as a Map does, however many there are', () => {
  const names = [...ALIKE, ...Array.from({ length: 20_000 }, () => randomBytes(16).toString('base64url'))];
  const [table, map] = [new TextTable<number>(), new Map<string, number>()];
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
  const table = new TextTable<string>();
  for (const name of names) table.set(name, `value of ${name}`);
  for (const name of names) assert.equal(table.get(name), `value of ${name}`);
  assert.equal(table.get('9999-of-one-ending'), undefined);
});

test('what is deleted is gone until it is set again, and nothing else is', () => {
  const table = new TextTable<number>();
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
