// Begins early: it runs many suites.
import { test } from 'node:test';
import { assertConditions } from './conditions.ts';
import { NODE_22 } from './executables.ts';
import { assertSuitesHold } from './outcomes.ts';
import { assertProgramAsks } from './protected_api.ts';
import { assertWritesWait } from './sqlite_lock.ts';

const COMMAND = { program: NODE_22(), args: [] };

test('every specification holds on Node 22', (t) =>
  assertSuitesHold(t, COMMAND, { canReplaceExports: true }));

test('on Node 22 hashing and signatures are those of Node', (t) => assertConditions(t, COMMAND, 'node'));

test('on Node 22 a write to a SQLite file waits for that of another', (t) => assertWritesWait(t, COMMAND));

test('on Node 22 a protected API asks once for many requests, and follows no redirect', (t) =>
  assertProgramAsks(t, COMMAND));
