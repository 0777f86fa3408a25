import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { COLUMN_TYPES } from '@grantd/core/internal/storage/columns';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { ACTING_USES } from '../src/data/acting_uses.ts';
import { REQUESTS } from '../src/data/answered_requests.ts';
import { ATTEMPTS, countSql } from '../src/data/attempts.ts';
import { BLOCKS, HEADS } from '../src/data/audit_chain.ts';
import { CONSENTS, SCOPE_TEXTS } from '../src/data/consents.ts';
import { DOCUMENT_DENIALS } from '../src/data/document_denials.ts';
import { CODES, PASSKEYS, TOTPS } from '../src/data/factors.ts';
import { GROUPS, MEMBERS } from '../src/data/groups.ts';
import { LINKS, MAILS } from '../src/data/mails.ts';
import { PEOPLE, peopleTable } from '../src/data/people.ts';
import { PERSONAL_TOKENS } from '../src/data/personal_tokens.ts';
import { DELIVERIES, SESSIONS, SIGN_INS } from '../src/data/sessions.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import {
  migrateProgramTables,
  openSqliteTables,
  SQLITE_PROGRAM_TABLES,
  sqliteProgramTables,
} from '../src/data/sqlite_tables.ts';
import {
  asRow,
  dynamicCall,
  ProgramTables,
  recorded,
  statements,
  type TableCall,
} from '../src/data/tables.ts';
import { IDENTITIES } from '../src/data/upstream_identities.ts';

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
  const name = () => tables.list(SQL.name({ subject: 'alice' }), asRow);
  // Lookups of one tick share a transaction, which also shows whether anything was committed.
  const names = async () => (await Promise.all([name(), name(), name()])).flat().map((row) => row.name);
  const rename = (by: ProgramTables, to: string) => by.run(SQL.rename({ name: to, subject: 'alice' }));

  assert.deepEqual(await names(), []);
  await elsewhere.run(SQL.add({ subject: 'alice', name: 'first' }));
  assert.deepEqual(await names(), ['first', 'first', 'first']);
  await rename(elsewhere, 'second');
  assert.deepEqual(await names(), ['second', 'second', 'second']);
  await rename(tables, 'third');
  assert.deepEqual(await names(), ['third', 'third', 'third']);
  for (const storage of [here, there]) await storage.close();
});

test('counting an attempt searches each earlier key, and does not read all attempts', async () => {
  const { storage } = opened('plan.db');
  const sql = countSql(2).replaceAll('grantd.', '');
  const plan = storage.connection.database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  const steps = plan.map(({ detail }) => String(detail)).filter((detail) => /\bb\b/.test(detail));
  assert.equal(steps.length, 2);
  for (const step of steps) assert.match(step, /^SEARCH b USING .*\(issuer=\? AND key_digest=\?\)/);
  await storage.close();
});

test('SQLite finds a user by name, address, entry or identifier without reading all users', async () => {
  const { storage } = opened('lookups.db');
  const calls: TableCall[] = [];
  const asked = async (call: TableCall) => {
    calls.push(call);
    return [];
  };
  const people = peopleTable(new ProgramTables({ list: asked, write: async () => [] }));
  await people.byName('ada');
  await people.byOwnEmail('ada@example.com');
  await people.byVerifiedEmail('ada@example.com', 2);
  await people.byDirectoryId('entry');
  await people.bySubject('subject');
  assert.equal(calls.length, 5);
  for (const { sql } of calls) {
    const plan = storage.connection.database.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll('grantd.', '')}`);
    for (const { detail } of plan.all()) assert.doesNotMatch(String(detail), /^SCAN|\(issuer=\?\)/, sql);
  }
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
  return { storage, ...sqliteProgramTables(storage.connection, 'https://id.example') };
}

const SQL = statements({
  add: `
    INSERT INTO grantd.people (issuer, subject, name, password_hash, claims, created_at_ms)
    VALUES (:issuer, :subject, :name, '', '{}', 0) RETURNING subject`,
  name: 'SELECT name FROM grantd.people WHERE issuer = :issuer AND subject = :subject',
  rename: 'UPDATE grantd.people SET name = :name WHERE issuer = :issuer AND subject = :subject',
  removeLike: 'DELETE FROM grantd.people WHERE issuer = :issuer AND name LIKE :pattern',
});

test('events of the library and of the program that share a commit have numbers of their own', async () => {
  const { storage, tables } = opened('events.db');
  const commits = () => storage.statistics?.().writes?.commits ?? assert.fail();
  const before = commits();
  const program = (name: string) =>
    tables.write(
      recorded(SQL.add({ subject: name, name }), {
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
  await tables.run(...names.map((name, index) => SQL.add({ subject: `${index}`, name })));
  assert.ok(inFile('memorable-7-'));
  await tables.run(SQL.removeLike({ pattern: 'memorable-%' }));
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

/** Tables whose rows are records, and the columns that only statements use. */
const STATED = [
  ...[ATTEMPTS, BLOCKS, CODES, CONSENTS, DELIVERIES, GROUPS, HEADS, IDENTITIES, LINKS, MAILS, MEMBERS],
  ...[
    ACTING_USES,
    DOCUMENT_DENIALS,
    PERSONAL_TOKENS,
    PASSKEYS,
    PEOPLE,
    REQUESTS,
    SCOPE_TEXTS,
    SESSIONS,
    SIGN_INS,
    TOTPS,
  ],
];
const OTHERS = new Map([
  ['group_members', ['ended_at_ms']],
  ['people', ['held_level', 'held_until_ms']],
]);

test('the migrations create exactly the columns that are stated', async () => {
  const { storage } = opened('columns.db');
  const columnsOf = storage.connection.database.prepare(
    'SELECT name, type, "notnull" AS required FROM pragma_table_info(?)',
  );
  for (const { name: table, columns } of STATED) {
    const found = columnsOf.all(table).map(({ name, type, required }) => `${name} ${type} ${required}`);
    const stated = Object.values(columns).map(
      ({ name, type, optional }) => `${name} ${COLUMN_TYPES[type].sqlite} ${optional ? 0 : 1}`,
    );
    const others = found.filter((column) => OTHERS.get(table)?.includes(column.split(' ')[0] ?? ''));
    assert.equal(others.length, OTHERS.get(table)?.length ?? 0, table);
    assert.deepEqual([...stated, ...others, 'issuer TEXT 1'].sort(), [...found].sort(), table);
  }
  await storage.close();
});

test('a parameter without a value is an error', () => {
  const find = 'SELECT 1 FROM grantd.people WHERE issuer = :issuer AND subject = :subject AND name = :name';
  assert.deepEqual(dynamicCall(find, { subject: 'a', name: 'b' }).values, ['a', 'b']);
  assert.throws(() => dynamicCall(find, { subject: 'a' }), /the parameter name has no value/);
});
