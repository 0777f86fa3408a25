import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NewToken } from '../../src/protocol/records.ts';
import { openDatabase } from '../../src/storage/sqlite/connection.ts';
import { WriteQueue } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage, type SqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { faultBy, reasonOf } from '../harness/storage_fault.ts';
import { newClient, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

/** A new file with one table, and its write queue. */
function notesIn(name: string, busyTimeoutMs = 2000) {
  const path = join(folder, name);
  const database = openDatabase(path, busyTimeoutMs);
  database.exec('CREATE TABLE notes (text TEXT UNIQUE) STRICT');
  const insert = database.prepare('INSERT INTO notes (text) VALUES (?)');
  const queue = new WriteQueue(database, busyTimeoutMs);
  return {
    path,
    database,
    queue,
    write: (text: string) => queue.transaction(() => insert.run(text).changes),
    texts: () =>
      database
        .prepare('SELECT text FROM notes ORDER BY rowid')
        .all()
        .map(({ text }) => text),
  };
}

/** Another connection that holds the write lock, like another process. */
function writerOn(path: string): DatabaseSync {
  const writer = new DatabaseSync(path);
  writer.exec('BEGIN IMMEDIATE');
  return writer;
}

test('a write that the disk has no room for names the file, and changes nothing', async () => {
  const { path, database, write, texts } = notesIn('no_room.db');
  await write('small');
  database.exec(`PRAGMA max_page_count = ${database.prepare('PRAGMA page_count').get()?.page_count}`);
  const named = faultBy(new RegExp(`${path}: .*full: look whether the disk is full`));
  await assert.rejects(write('x'.repeat(100_000)), named);
  assert.deepEqual(texts(), ['small']);
});

/** A store with live tokens of one client. */
async function storeWith(
  name: string,
  count: number,
): Promise<{ storage: SqliteStorage; tokens: NewToken[] }> {
  const storage = openSqliteStorage({ path: join(folder, name), issuer });
  await storage.clients.add(newClient('app'));
  const tokens = Array.from({ length: count }, () => newToken('app'));
  assert.equal(await storage.tokens.issue(tokens, {}), 'issued');
  return { storage, tokens };
}

/**
 * The number of commits in a write-ahead log (https://sqlite.org/fileformat2.html#walformat): a commit's last frame has
 * the size of the database. Counts from the log's beginning, so the log must not have restarted.
 */
function commitsIn(log: Buffer): number {
  const [pageBytes, salts] = [log.readUInt32BE(8), log.subarray(16, 24)];
  let commits = 0;
  for (let at = 32; at < log.length; at += 24 + pageBytes) {
    if (log.subarray(at + 8, at + 16).equals(salts) && log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

test('while another process writes, a write waits and the event loop goes on', async () => {
  const { storage, tokens } = await storeWith('turns.db', 1);
  const [token] = tokens;
  assert.ok(token);
  const writer = writerOn(storage.path);
  let isRevoked = false;
  const revocation = Promise.resolve(storage.tokens.revoke(token)).then(() => {
    isRevoked = true;
  });
  for (let turns = 0; turns < 1000; turns++) await nextTurn();
  assert.equal(isRevoked, false);
  assert.equal((await storage.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
  writer.exec('ROLLBACK');
  await revocation;
  assert.notEqual((await storage.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
  writer.close();
  await storage.close();
});

test('1000 revocations that are asked for at once are eight commits, and each is durable once answered', async () => {
  const { storage, tokens } = await storeWith('group.db', 1000);
  // A reader prevents the log from restarting.
  const reader = new DatabaseSync(storage.path, { readOnly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM tokens').get();
  const commits = () => commitsIn(readFileSync(`${storage.path}-wal`));
  const before = commits();
  const witness = new DatabaseSync(storage.path, { readOnly: true });
  const revokedAt = witness.prepare('SELECT revoked_at_ms AS at FROM tokens WHERE id = ?');
  await Promise.all(
    tokens.map(async (token) => {
      await storage.tokens.revoke(token);
      assert.notEqual(revokedAt.get(token.id)?.at, null);
    }),
  );
  assert.equal(commits() - before, Math.ceil(1000 / 128));
  witness.close();
  reader.close();
  await storage.close();
});

test('after many writes at once, the next ones wait for one another across idle turns, and a single one gets through', async () => {
  const { database, queue, write } = notesIn('others.db');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const atOnce = (name: string) => ['a', 'b', 'c', 'd'].map((letter) => write(`${name} ${letter}`));
  const commitsOf = async (name: string): Promise<number> => {
    // The others wait no longer than this takes.
    const slow = queue.transaction(() => Atomics.wait(pause, 0, 0, 20));
    await Promise.all([slow, ...atOnce(`${name}, before`)]);
    const before = queue.commits;
    const scattered = [];
    for (const letter of ['a', 'b', 'c', 'd', 'e']) {
      scattered.push(write(`${name}, ${letter}`));
      for (let turns = 0; turns < 3; turns++) await nextTurn();
    }
    await Promise.all(scattered);
    return queue.commits - before;
  };
  // On a busy machine, the turns may take longer than the writes wait.
  const commits: number[] = [];
  for (let attempt = 0; attempt < 50 && !commits.includes(1); attempt++)
    commits.push(await commitsOf(`attempt ${attempt}`));
  assert.ok(commits.includes(1), `commits of five writes: ${commits}`);
  assert.equal(await write('alone'), 1);
  database.close();
});

test('writes happen in the order of their calls, and see those before them', async () => {
  const { database, queue, write, texts } = notesIn('order.db');
  const count = () => Number(database.prepare('SELECT count(*) AS count FROM notes').get()?.count);
  const seen = [write('first'), queue.transaction(count), write('second'), queue.transaction(count)];
  assert.deepEqual(texts(), [], 'nothing is written before the calls have returned');
  assert.deepEqual(await Promise.all(seen), [1, 1, 1, 2]);
  assert.deepEqual(texts(), ['first', 'second']);
  database.close();
});

test('a write that throws is undone alone', async () => {
  const { database, queue, write, texts } = notesIn('alone.db');
  const failing = queue.transaction(() => {
    database.exec("INSERT INTO notes VALUES ('half')");
    throw new Error('a change of mind');
  });
  const outcomes = await Promise.allSettled([write('one'), failing, write('one'), write('two')]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : reasonOf(outcome.reason))),
    [1, 'Error: a change of mind', 'Error: UNIQUE constraint failed: notes.text', 1],
  );
  assert.deepEqual(texts(), ['one', 'two']);
  database.close();
});

test('after a write that throws, the others of its commit run once more, in their order', async () => {
  const { database, queue, write, texts } = notesIn('again.db');
  const runs: string[] = [];
  const noted = (text: string) =>
    queue.transaction(() => {
      runs.push(text);
      database.prepare('INSERT INTO notes (text) VALUES (?)').run(text);
      if (text === 'bad') throw new Error('a change of mind');
      return text;
    });
  const outcomes = await Promise.allSettled(['one', 'bad', 'two'].map(noted));
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : reasonOf(outcome.reason))),
    ['one', 'Error: a change of mind', 'two'],
  );
  assert.deepEqual(runs, ['one', 'bad', 'one', 'bad', 'two']);
  await assert.rejects(noted('bad'), faultBy(/a change of mind/));
  assert.equal(runs.length, 6, 'a single write runs once');
  await Promise.all([noted('three'), noted('four')]);
  assert.equal(runs.length, 8, 'and later ones too');
  await write('five');
  assert.deepEqual(texts(), ['one', 'two', 'three', 'four', 'five']);
  database.close();
});

test('a token that cannot be stored does not take others along that are issued at the same time', async () => {
  const { storage, tokens } = await storeWith('taken.db', 1);
  const [fresh, other] = [newToken('app'), newToken('app')];
  const outcomes = await Promise.allSettled([
    storage.tokens.issue([fresh], {}),
    storage.tokens.issue([newToken('app', { id: 'never' }), ...tokens], {}),
    storage.tokens.issue([other], {}),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((await storage.tokens.getByAccessToken(other.id))?.id, other.id);
  assert.equal(await storage.tokens.getByAccessToken('never'), undefined);
  await storage.close();
});

test('a lock that is held too long rejects what has waited so long, and later writes get on', async () => {
  const { path, database, write, texts } = notesIn('overdue.db', 300);
  const writer = writerOn(path);
  const startedAtMs = performance.now();
  const early = await Promise.allSettled([write('one'), write('two')]);
  const waitedMs = performance.now() - startedAtMs;
  for (const outcome of early) {
    assert.ok(outcome.status === 'rejected');
    assert.match(reasonOf(outcome.reason), /database is locked/);
  }
  assert.ok(waitedMs >= 300 && waitedMs < 2000, `waited ${waitedMs} ms`);
  const late = write('three');
  await nextTurn();
  writer.exec('ROLLBACK');
  await late;
  assert.deepEqual(texts(), ['three']);
  writer.close();
  database.close();
});

test('while writes wait without SQLite’s own patience, look-ups keep it', async () => {
  const { path, database, write } = notesIn('patience.db', 1234);
  const timeout = () => database.prepare('PRAGMA busy_timeout').get()?.timeout;
  const writer = writerOn(path);
  const waiting = write('one');
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  assert.equal(timeout(), 1234);
  writer.exec('ROLLBACK');
  await waiting;
  assert.equal(timeout(), 1234);
  writer.close();
  database.close();
});

test('an error after which SQLite has undone the whole transaction rejects all of it, and the next one is clean', async () => {
  const { database, queue, write, texts } = notesIn('undone.db');
  // What SQLite does by itself after an I/O error.
  const undone = queue.transaction(() => {
    database.exec('ROLLBACK');
    throw new Error('disk I/O error');
  });
  const outcomes = await Promise.allSettled([write('one'), undone, write('two')]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected');
    assert.match(reasonOf(outcome.reason), /disk I\/O error/);
  }
  assert.deepEqual(texts(), []);
  await write('three');
  assert.deepEqual(texts(), ['three']);
  database.close();
});

test('a disk that is full rejects what does not fit, leaves nothing of it, and hinders nothing that does', async () => {
  const { database, queue, write, texts } = notesIn('full.db');
  const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const outcomes = await Promise.allSettled([
    write('one'),
    queue.transaction(() => {
      database.exec("INSERT INTO notes VALUES ('half')");
      database.prepare('INSERT INTO notes VALUES (?)').run('x'.repeat(100_000));
    }),
    write('two'),
  ]);
  const kept = ['one', 'two'].filter((_, index) => outcomes[index * 2]?.status === 'fulfilled');
  assert.deepEqual(texts(), kept, 'what is there is what was answered');
  assert.equal(outcomes[1]?.status, 'rejected');
  await write('three');
  assert.deepEqual(texts(), [...kept, 'three']);
  database.close();
});

test('a commit that fails rejects every write of it', async () => {
  const { database, queue, write, texts } = notesIn('commit.db');
  database.exec('PRAGMA foreign_keys = ON');
  database.exec('CREATE TABLE owners (id INTEGER PRIMARY KEY) STRICT');
  database.exec(
    'CREATE TABLE things (owner INTEGER REFERENCES owners (id) DEFERRABLE INITIALLY DEFERRED) STRICT',
  );
  // SQLite checks only deferred constraints in the commit itself.
  const dangling = queue.transaction(() => database.exec('INSERT INTO things VALUES (7)'));
  const outcomes = await Promise.allSettled([write('one'), dangling, write('two')]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected');
    assert.match(reasonOf(outcome.reason), /FOREIGN KEY constraint failed/);
  }
  assert.deepEqual(texts(), []);
  await write('three');
  assert.deepEqual(texts(), ['three']);
  database.close();
});

test('closing a store rejects what still waits, also while another process writes, and can be repeated', async () => {
  const { storage, tokens } = await storeWith('closed.db', 2);
  const [one, other] = tokens;
  assert.ok(one && other);
  const writer = writerOn(storage.path);
  const waiting = assert.rejects(
    async () => storage.tokens.revoke(one),
    faultBy(/the database was closed before this was written/),
  );
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  await storage.close();
  await storage.close();
  await waiting;
  await assert.rejects(async () => storage.tokens.revoke(other), faultBy(/database is not open/));
  writer.exec('ROLLBACK');
  assert.deepEqual(writer.prepare('SELECT id FROM tokens WHERE revoked_at_ms IS NOT NULL').all(), []);
  writer.close();
});
