import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { sqliteDatabase, sqliteProgramTables } from '../src/data/sqlite_database.ts';
import { migrateProgramTables, openSqliteTables, SQLITE_PROGRAM_TABLES } from '../src/data/sqlite_tables.ts';
import type { ProgramTables } from '../src/data/tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-tables-'));
after(() => rmSync(folder, { recursive: true }));

test('the program’s own connection flushes a write-ahead log at every commit', () => {
  // Characters with a meaning in URLs are part of the name.
  const path = join(folder, 'own #1?100%.db');
  const storage = openSqliteStorage({ path, issuer: 'https://id.example' });
  const database = openSqliteTables(path);
  assert.equal(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal');
  assert.equal(database.prepare('PRAGMA synchronous').get()?.synchronous, 2);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  database.close();
  storage.close();
});

test('a file that is not kept durable is refused', () => {
  const path = join(folder, 'without_log.db');
  new DatabaseSync(path).close();
  assert.throws(() => openSqliteTables(path), /keeps its journal as "delete" instead of "wal"/);
});

test('a file that the store has not created is not created here, because anyone could read it', () => {
  const path = join(folder, 'none.db');
  assert.throws(() => openSqliteTables(path), /unable to open database file/);
  assert.equal(existsSync(path), false);
});

test('cached rows are current, whichever process changed them', async () => {
  const path = join(folder, 'remembered.db');
  const hostTables = { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables };
  const open = () => openSqliteStorage({ path, issuer: 'https://id.example', hostTables });
  const [here, there] = [open(), open()];
  const [tables, elsewhere] = [sqliteProgramTables(here.connection), sqliteProgramTables(there.connection)];
  const name = () => tables.read('SELECT name FROM grantd.people WHERE subject = $1', 'alice');
  // Lookups of one tick share a transaction, which also shows whether anything was committed.
  const names = async () => (await Promise.all([name(), name(), name()])).flat().map((row) => row.name);
  const rename = (by: ProgramTables, to: string) =>
    by.write(['UPDATE grantd.people SET name = $1 WHERE subject = $2', to, 'alice']);

  assert.deepEqual(await names(), []);
  await elsewhere.write([
    `INSERT INTO grantd.people (issuer, subject, name, password_hash, claims, created_at_ms)
     VALUES ('https://id.example', 'alice', 'first', '', '{}', 0)`,
  ]);
  assert.deepEqual(await names(), ['first', 'first', 'first']);
  await rename(elsewhere, 'second');
  assert.deepEqual(await names(), ['second', 'second', 'second']);
  await rename(tables, 'third');
  assert.deepEqual(await names(), ['third', 'third', 'third']);
  for (const storage of [here, there]) await storage.close();
});

test('a start that fails in the middle leaves nothing open', async () => {
  const path = join(folder, 'newer.db');
  const issuer = 'https://id.example';
  const first = sqliteDatabase(path);
  await first.open(issuer);
  await first.close();
  const other = new DatabaseSync(path);
  other.exec('UPDATE program_schema SET version = 99; UPDATE program_schema_floor SET version = 99');
  other.close();
  await assert.rejects(sqliteDatabase(path).open(issuer), /was written by a newer grantd/);
  // SQLite deletes the log when the last connection closes.
  assert.equal(existsSync(`${path}-wal`), false);
});
