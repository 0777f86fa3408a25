import { test } from 'node:test';
import { assertConditions } from './conditions.ts';
import { NODE_24 } from './executables.ts';
import { assertSuitesHold } from './outcomes.ts';
import { assertProgramAsks } from './protected_api.ts';
import { assertWritesWait } from './sqlite_lock.ts';

const COMMAND = { program: NODE_24(), args: [] };

// Node 22.18 and the pinned Node run these suites in each `npm test`. What both have, the version in between has too.
const SUITES =
  process.env.TEST_EVERY_PAIR === 'yes' ? {} : { skip: 'the suites run with npm run test:runtimes' };

test('every specification holds on Node 24', SUITES, (t) =>
  assertSuitesHold(t, COMMAND, { canReplaceExports: true }),
);

test('on Node 24 hashing and signatures are those of Node', (t) => assertConditions(t, COMMAND, 'node'));

test('on Node 24 a write to a SQLite file waits for that of another', (t) => assertWritesWait(t, COMMAND));

test('on Node 24 a protected API asks once for many requests, and follows no redirect', (t) =>
  assertProgramAsks(t, COMMAND));
