// Begins early: it runs many suites.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertConditions } from './conditions.ts';
import { BUN } from './executables.ts';
import { assertSuitesHold, said } from './outcomes.ts';
import { assertOwnServerTells } from './own_server.ts';
import { hostFolder } from './package_under_test.ts';
import { assertProgramAsks } from './protected_api.ts';
import { assertWritesWait } from './sqlite_lock.ts';

const COMMAND = { program: BUN(), args: ['run'] };

test('every specification holds on Bun', (t) => assertSuitesHold(t, COMMAND, { canReplaceExports: false }));

test('on Bun hashing and signatures are those of Node', (t) => assertConditions(t, COMMAND, 'node'));

test('on Bun a write to a SQLite file waits for that of another', (t) => assertWritesWait(t, COMMAND));

test('behind Bun’s own server the peer is known, and a client that disconnects in the middle of its body runs nothing', (t) =>
  assertOwnServerTells(t, COMMAND));

test('on Bun a protected API asks once for many requests, and follows no redirect', (t) =>
  assertProgramAsks(t, COMMAND));

test('on Bun a host keeps tables of its own in the store’s file by bun:sqlite', async (t) => {
  const folder = hostFolder(t);
  copyFileSync(join(import.meta.dirname, 'inside', 'bun_sqlite.mjs'), join(folder, 'host.mjs'));
  const users = [{ id: 'alice' }, { id: 'bob' }];
  assert.deepEqual(await said(folder, COMMAND, 'host.mjs'), { users, client: 'web' });
});
