import assert from 'node:assert/strict';
import { closeSync, copyFileSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { assertDurable, openDatabase } from '../../src/storage/sqlite/connection.ts';
import { readStoredIssuer } from '../../src/storage/sqlite/files.ts';
import { inTransaction } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

test('an opened file has a write-ahead log that is flushed at every commit', () => {
  const database = openDatabase(join(folder, 'pragmas.db'), 100);
  assert.equal(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal');
  assert.equal(database.prepare('PRAGMA synchronous').get()?.synchronous, 2);
  assert.equal(database.prepare('PRAGMA fullfsync').get()?.fullfsync, 1);
  assert.equal(database.prepare('PRAGMA busy_timeout').get()?.timeout, 100);
  assert.equal(database.prepare('PRAGMA foreign_keys').get()?.foreign_keys, 1);
  // Temporary data stays in memory.
  assert.equal(database.prepare('PRAGMA temp_store').get()?.temp_store, 2);
  database.exec('PRAGMA synchronous = NORMAL');
  assert.throws(() => assertDurable(database), /synchronous=1 instead of 2 \(FULL\)/);
  database.close();
});

test('what cannot have a write-ahead log is refused', () => {
  const inMemory = new DatabaseSync(':memory:');
  assert.throws(() => assertDurable(inMemory), /journal as "memory" instead of "wal"/);
  inMemory.close();
});

test('the file and its log can be read by their owner alone, in a folder that is made for them', async () => {
  const path = join(folder, 'made', 'for', 'it', 'grantd.db');
  const storage = openSqliteStorage({ path, issuer });
  await storage.clients.add(newClient('app'));
  for (const suffix of ['', '-wal', '-shm']) assert.equal(modeOf(path + suffix), 0o600, path + suffix);
  assert.equal(modeOf(join(folder, 'made')), 0o700);
  assert.equal(storage.path, path);
  storage.close();
});

test('look-ups write nothing', async () => {
  const path = join(folder, 'reads.db');
  const storage = openSqliteStorage({ path, issuer });
  await storage.clients.add(newClient('app'));
  const token = newToken('app');
  await storage.tokens.issue([token], {});
  const observer = new DatabaseSync(path, { readOnly: true });
  const observed = () => [
    observer.prepare('PRAGMA data_version').get()?.data_version,
    statSync(`${path}-wal`).size,
    statSync(path).mtimeMs,
  ];

  const before = observed();
  const record = await storage.tokens.getByAccessToken(token.id);
  assert.ok(record);
  await storage.tokens.isRefreshTokenRevoked(record);
  await storage.tokens.getByRefreshToken(token.id);
  await storage.authorizationCodes.get('unknown');
  await storage.clients.get('app');
  await storage.clients.hasRedirectOrigin('https://app.example');
  await storage.keys.currentKeyId('RS256');
  await storage.keys.list();
  await storage.keys.get('unknown');
  await storage.getPrincipalState('subject', 'unknown');
  await storage.eventsAfter(0, 10);
  await storage.countAlive({ principal: 'client', id: 'app' });
  assert.deepEqual(observed(), before);
  observer.close();
  storage.close();
});

test('a write that has to wait too long is rejected and has not happened, while look-ups go on', async () => {
  const path = join(folder, 'busy.db');
  const storage = openSqliteStorage({ path, issuer, busyTimeoutMs: 1 });
  await storage.clients.add(newClient('app'));
  const token = newToken('app');
  await storage.tokens.issue([token], {});
  const writer = new DatabaseSync(path);
  writer.exec('BEGIN IMMEDIATE');
  const record = await storage.tokens.getByAccessToken(token.id);
  assert.ok(record);
  await assert.rejects(async () => storage.tokens.revoke(record), faultBy(/database is locked/));
  writer.exec('ROLLBACK');
  writer.close();
  assert.equal((await storage.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
  await storage.tokens.revoke(record);
  assert.notEqual((await storage.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
  storage.close();
});

test('checkpointPages sets after how many pages the log is copied into the file', async () => {
  const sizeWith = async (checkpointPages: number) => {
    const path = join(folder, `after-${checkpointPages}.db`);
    const storage = openSqliteStorage({ path, issuer, checkpointPages });
    await storage.clients.add(newClient('app'));
    const { size } = statSync(path);
    storage.close();
    return size;
  };
  assert.ok((await sizeWith(1)) > (await sizeWith(1_000_000)));
  const path = join(folder, 'never.db');
  assert.throws(() => openSqliteStorage({ path, issuer, checkpointPages: 0 }), /checkpointPages/);
});

test('a transaction has the write lock before it reads anything', () => {
  const path = join(folder, 'immediate.db');
  const one = openDatabase(path, 0);
  const other = openDatabase(path, 0);
  one.exec('CREATE TABLE notes (text TEXT) STRICT');
  const note = (text: string) => () => other.exec(`INSERT INTO notes VALUES ('${text}')`);
  inTransaction(one, () => {
    assert.throws(() => inTransaction(other, note('early')), /database is locked/);
  });
  inTransaction(other, note('late'));
  assert.deepEqual(
    one
      .prepare('SELECT text FROM notes')
      .all()
      .map(({ text }) => text),
    ['late'],
  );
  one.close();
  other.close();
});

test('a transaction that finds the disk full is a fault, and nothing of it is left', () => {
  const database = openDatabase(join(folder, 'full.db'), 100);
  database.exec('CREATE TABLE notes (text TEXT) STRICT');
  const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const insert = database.prepare('INSERT INTO notes (text) VALUES (?)');
  assert.throws(
    () =>
      inTransaction(database, () => {
        insert.run('short');
        insert.run('x'.repeat(100_000));
      }),
    /database or disk is full/,
  );
  assert.deepEqual(database.prepare('SELECT text FROM notes').all(), []);
  inTransaction(database, () => insert.run('short'));
  assert.equal(database.prepare('SELECT text FROM notes').all().length, 1);
  database.close();
});

/** A file whose log has commits, as after a kill, and an older backup. */
async function killedAndBackedUp(name: string) {
  const path = join(folder, name);
  const storage = openSqliteStorage({ path: `${path}.running`, issuer });
  await storage.clients.add(newClient('in backup'));
  const reader = new DatabaseSync(`${path}.running`);
  reader.exec(`VACUUM INTO '${path}.backup'`);
  reader.close();
  await storage.clients.add(newClient('later'));
  return { path: `${path}.running`, backup: `${path}.backup`, storage };
}

test('a log that belongs to another file is never applied', async () => {
  const { path, backup, storage } = await killedAndBackedUp('replaced.db');
  renameSync(backup, path);
  const refusal =
    /was replaced, and the log beside it belongs to the previous file.*remove .*-wal and .*-shm/;
  assert.throws(() => openSqliteStorage({ path, issuer }), refusal);
  assert.throws(() => readStoredIssuer(path), refusal);
  assert.notEqual(statSync(`${path}-wal`).size, 0);
  storage.close();
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  const restored = openSqliteStorage({ path, issuer });
  assert.deepEqual(
    (await restored.clients.list()).map(({ id }) => id),
    ['in backup'],
  );
  restored.close();
});

test('a file that was copied together with its log is opened with it', async () => {
  const { path, storage } = await killedAndBackedUp('copied.db');
  const copy = `${path}.copy`;
  for (const suffix of ['', '-wal', '-inodes']) copyFileSync(path + suffix, copy + suffix);
  storage.close();
  const opened = openSqliteStorage({ path: copy, issuer });
  assert.equal((await opened.clients.list()).length, 2);
  opened.close();
});

test('after the first error that says that the file is corrupt, nothing is read or written', async () => {
  const path = join(folder, 'corrupt.db');
  const writer = openSqliteStorage({ path, issuer });
  await writer.clients.add(newClient('app'));
  const token = newToken('app');
  await writer.tokens.issue([token], {});
  writer.close();

  const found: string[] = [];
  const storage = openSqliteStorage({ path, issuer, onCorruption: (error) => found.push(error.message) });
  // All pages but the first one, which is read when a file is opened.
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(statSync(path).size - 4096, 'x'), 0, undefined, 4096);
  closeSync(file);
  await assert.rejects(async () => storage.tokens.getByAccessToken(token.id), faultBy(/malformed/));
  await assert.rejects(
    async () => storage.tokens.getByAccessToken(token.id),
    faultBy(/the database file is corrupt/),
  );
  await assert.rejects(
    async () => storage.clients.add(newClient('b')),
    faultBy(/the database file is corrupt/),
  );
  assert.equal(found.length, 1);
  storage.close();
});
