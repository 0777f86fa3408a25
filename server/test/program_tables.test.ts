import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { ATTEMPTS_SQL } from '../src/data/people.ts';
import { sqliteDatabase, sqliteProgramTables } from '../src/data/sqlite_database.ts';
import { migrateProgramTables, openSqliteTables, SQLITE_PROGRAM_TABLES } from '../src/data/sqlite_tables.ts';
import { type ProgramTables, recorded, type TableCall } from '../src/data/tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-tables-'));
after(() => rmSync(folder, { recursive: true }));

test('a connection for marks flushes a write-ahead log at every commit', () => {
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
  const [{ storage: here, tables }, { storage: there, tables: elsewhere }] = [
    opened('remembered.db'),
    opened('remembered.db'),
  ];
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

test('counting an attempt searches each earlier key, and does not read all attempts', async () => {
  const { storage } = opened('plan.db');
  const sql = ATTEMPTS_SQL.count(2).replaceAll('grantd.', '');
  const plan = storage.connection.database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  const steps = plan.map(({ detail }) => String(detail)).filter((detail) => /\bb\b/.test(detail));
  assert.equal(steps.length, 2);
  for (const step of steps) assert.match(step, /^SEARCH b USING .*\(issuer=\? AND key_digest=\?\)/);
  await storage.close();
});

/** A store with the program’s tables. */
function opened(name: string) {
  const hostTables = { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables };
  const storage = openSqliteStorage({
    ...{
      path: join(folder, name),
      issuer: 'https://id.example',
      hostTables,
      audit: { originOf: () => ({}) },
    },
  });
  return { storage, tables: sqliteProgramTables(storage.connection) };
}

const ADD_PERSON = `
  INSERT INTO grantd.people (issuer, subject, name, password_hash, claims, created_at_ms)
  VALUES ('https://id.example', $1, $2, '', '{}', 0)`;

test('events of the library and of the program that share a commit have numbers of their own', async () => {
  const { storage, tables } = opened('events.db');
  const commits = () => storage.statistics?.().writes?.commits ?? assert.fail();
  const before = commits();
  const program = (name: string) =>
    tables.write(
      recorded([`${ADD_PERSON} RETURNING subject`, name, name], {
        ...{ type: 'person_added', target: { column: 'subject' } },
      }),
    );
  const library = (id: string) => storage.revokeAll({ principal: 'subject', id });
  await Promise.all([program('a'), library('b'), program('c'), library('d')]);
  assert.equal(commits() - before, 1);
  const events = await storage.eventsAfter(0, 10);
  assert.throws(() => storage.connection.addEvent('person_added', { target: 'e' }, {}), /within a write/);
  assert.deepEqual(
    events.map(({ sequence, target }) => `${sequence} ${target}`),
    ['1 a', '2 b', '3 c', '4 d'],
  );
  await storage.close();
});

test('deleted user data is overwritten in the file', async () => {
  const { storage, tables } = opened('deleted.db');
  const { database } = storage.connection;
  const inFile = (text: string) => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return readFileSync(storage.path).includes(text);
  };
  // More than one page, so that some are freed.
  const names = Array.from({ length: 200 }, (_, index) => `memorable-${index}-${'x'.repeat(100)}`);
  await tables.write(...names.map((name, index): TableCall => [ADD_PERSON, `${index}`, name]));
  assert.ok(inFile('memorable-7-'));
  await tables.write(['DELETE FROM grantd.people WHERE name LIKE $1', 'memorable-%']);
  assert.ok(!inFile('memorable-'));
  assert.equal(database.prepare('PRAGMA secure_delete').get()?.secure_delete, 0);
  await storage.close();
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
