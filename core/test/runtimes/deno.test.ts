// Begins early: it runs many suites.
import { test } from 'node:test';
import { assertConditions } from './conditions.ts';
import { DENO } from './executables.ts';
import { assertSuitesHold } from './outcomes.ts';
import { assertOwnServerTells } from './own_server.ts';
import { assertProgramAsks } from './protected_api.ts';
import { assertWritesWait } from './sqlite_lock.ts';

const COMMAND = {
  program: DENO(),
  args: ['run', '-A', '--node-modules-dir=manual', '--no-lock', '--no-remote'],
  // Its cache is deleted with its folder.
  env: { DENO_DIR: '.deno', DENO_NO_UPDATE_CHECK: '1' },
};

test('every specification holds on Deno', (t) => assertSuitesHold(t, COMMAND, { canReplaceExports: false }));

test('on Deno hashing and signatures are those of Node', (t) => assertConditions(t, COMMAND, 'node'));

test('on Deno a write to a SQLite file waits for that of another', (t) => assertWritesWait(t, COMMAND));

test('behind Deno’s own server the peer is known, and a client that disconnects in the middle of its body runs nothing', (t) =>
  assertOwnServerTells(t, COMMAND));

test('on Deno a protected API asks once for many requests, and follows no redirect', (t) =>
  assertProgramAsks(t, COMMAND));
