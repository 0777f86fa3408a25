// The statistics of SQLite's planner are the same in every file (ADR 196).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

function opened(name: string) {
  const path = join(folder, name);
  const storage = openSqliteStorage({ path, issuer });
  after(() => storage.close());
  const other = new DatabaseSync(path);
  after(() => other.close());
  return { path, storage, other };
}

const rowsIn = (database: DatabaseSync) =>
  database
    .prepare('SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY 1, 2')
    .all()
    .map(({ tbl, idx, stat }) => `${tbl} ${idx} ${stat}`);

const planOf = (database: DatabaseSync, sql: string) =>
  database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail)
    .join();

const GRANTS = 'SELECT * FROM grants WHERE issuer_id = 1 AND subject = 2';
const BY_SUBJECT = 'SEARCH grants USING INDEX grants_by_subject (issuer_id=? AND subject=?)';

test('a new file has statistics: one issuer has all rows, and each further column narrows them', () => {
  const { storage, other } = opened('new.db');
  const rows = rowsIn(other);
  for (const row of [
    'clients clients 1000000 1000000 1',
    'clients clients_by_place 10000 10000 1',
    'grants grants_by_subject 1000000 1000000 10',
    'pending pending_by_other_id 10000 10000 10 1',
    'principals principals 1000000 1000000 1000 1',
    'tokens sqlite_autoindex_tokens_1 1000000 1000000 1',
    'tokens tokens_by_family 10000 10000 1000 10 1',
  ])
    assert.ok(rows.includes(row), `${row} is not in\n${rows.join('\n')}`);
  assert.equal(planOf(other, GRANTS), BY_SUBJECT);
  assert.equal(planOf(storage.connection.database, GRANTS), BY_SUBJECT);
});

test('a file without statistics gets them when it is opened, and connections that are open use them', () => {
  const { path, storage, other } = opened('older.db');
  const before = rowsIn(other);
  other.exec('DROP TABLE sqlite_stat1');
  openSqliteStorage({ path, issuer }).close();
  assert.deepEqual(rowsIn(other), before);
  assert.equal(planOf(storage.connection.database, GRANTS), BY_SUBJECT);
});

test('the next start replaces what ANALYZE has measured', () => {
  const { path, other } = opened('analyzed.db');
  const before = rowsIn(other);
  // Of a small table, all rows are equally few.
  other.exec(`
    INSERT INTO grants (issuer_id, grant_id, client_id, subject, scopes, created_at_ms, client_generation, subject_generation,
      grant_generation)
    VALUES (1, 'g', 'c', 's', '[]', 0, 0, 0, 0);
    ANALYZE`);
  assert.ok(rowsIn(other).includes('grants grants_by_subject 1 1 1'));
  openSqliteStorage({ path, issuer }).close();
  assert.deepEqual(
    rowsIn(other).filter((row) => row !== 'schema_floor null 1'),
    before,
  );
});

test('tables of a host keep their statistics', () => {
  const { path, other } = opened('host.db');
  const before = rowsIn(other);
  other.exec(
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT); CREATE INDEX by_buyer ON orders (buyer)',
  );
  other.exec("INSERT INTO orders (buyer) VALUES ('a'), ('b'); ANALYZE orders");
  openSqliteStorage({ path, issuer }).close();
  assert.deepEqual(
    rowsIn(other).filter((row) => !before.includes(row)),
    ['orders by_buyer 2 1'],
  );
});

test('a start does not fail because another process writes', () => {
  const { path, other } = opened('busy.db');
  const before = rowsIn(other);
  other.exec('DELETE FROM sqlite_stat1; BEGIN IMMEDIATE');
  openSqliteStorage({ path, issuer, busyTimeoutMs: 1 }).close();
  other.exec('COMMIT');
  assert.deepEqual(rowsIn(other), []);
  openSqliteStorage({ path, issuer }).close();
  assert.deepEqual(rowsIn(other), before);
});
