import assert from 'node:assert/strict';
import { test } from 'node:test';
import { personToKeep } from '../src/data/people.ts';

test('no identifier of a user begins with a dash, which a command would take for a flag', () => {
  const person = { name: 'alice', passwordHash: '', claims: {} };
  // About sixteen of a thousand do. The chance that none does is one in ten million.
  const subjects = Array.from({ length: 1000 }, () => personToKeep(person).subject);
  assert.deepEqual(
    subjects.filter((subject) => !/^\w[\w-]{21}$/.test(subject)),
    [],
  );
});
