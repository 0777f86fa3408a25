// The newest times of a file, which a server reads every minute.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { newestTimesSql } from '../../src/storage/sqlite/files.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';
const GAP_MS = 1000;

/** A file whose events have these times, in the order of their numbers. */
function fileWith(name: string, times: readonly number[]): DatabaseSync {
  const path = join(folder, name);
  openSqliteStorage({ path, issuer }).close();
  const database = new DatabaseSync(path);
  after(() => database.close());
  const add = database.prepare(
    "INSERT INTO events (issuer_id, sequence, at_ms, type, target) VALUES (1, ?, ?, 'token_revoked', '')",
  );
  for (const [at, atMs] of times.entries()) add.run(at + 1, atMs);
  return database;
}

const newest = (database: DatabaseSync) => ({ ...database.prepare(newestTimesSql(GAP_MS)).get({ issuer }) });

test('the newest time, and the newest one that is older by more than the gap', () => {
  assert.deepEqual(newest(fileWith('none.db', [])), { at_ms: null, settled_ms: null });
  assert.deepEqual(newest(fileWith('fresh.db', [5000, 5500])), { at_ms: 5500, settled_ms: null });
  assert.deepEqual(newest(fileWith('gap.db', [1000, 2000, 9000, 9500])), { at_ms: 9500, settled_ms: 2000 });
  const setForward = fileWith('set.db', [1000, 90_000, 2000, 9000]);
  assert.deepEqual(newest(setForward), { at_ms: 9000, settled_ms: 2000 }, 'the clock was set forward once');
});

test('the events are read from their end', () => {
  const database = fileWith('steps.db', [1000]);
  const tree = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").get()?.rootpage;
  const steps = database.prepare(`EXPLAIN ${newestTimesSql(GAP_MS)}`).all({ issuer });
  const cursors = steps.filter(({ opcode, p2 }) => opcode === 'OpenRead' && p2 === tree).map(({ p1 }) => p1);
  assert.notEqual(cursors.length, 0);
  const forward = steps.filter(({ opcode, p1 }) => opcode === 'Next' && cursors.includes(p1 ?? null));
  assert.deepEqual(forward, []);
});
