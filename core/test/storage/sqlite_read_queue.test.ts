import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openDatabase } from '../../src/storage/sqlite/connection.ts';
import { ReadQueue, WriteQueue } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { faultBy, reasonOf } from '../harness/storage_fault.ts';
import { newClient, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();

/** Two connections to a file with one table and the store's version, each with its queues. */
function openTwo(t: TestContext) {
  const path = join(folder, `${randomUUID()}.db`);
  const made = new DatabaseSync(path);
  made.exec('CREATE TABLE issuers (id INTEGER); CREATE TABLE notes (text TEXT); PRAGMA user_version = 1');
  made.close();
  const open = () => {
    const database = openDatabase(path, 100);
    t.after(() => database.isOpen && database.close());
    const writes = new WriteQueue(database, 100);
    const reads = new ReadQueue(database, writes);
    const count = () => Number(database.prepare('SELECT count(*) AS n FROM notes').get()?.n);
    const note = () => database.exec("INSERT INTO notes VALUES ('x')");
    return { database, writes, reads, count, note };
  };
  return { one: open(), other: open() };
}

/**
 * Runs `work`.
 * @returns the statements without rows that it ran: the beginnings and ends of transactions
 */
async function transactionsOf(t: TestContext, work: () => Promise<unknown>): Promise<string[]> {
  const begun: string[] = [];
  const { run } = StatementSync.prototype;
  const counting = t.mock.method(
    StatementSync.prototype,
    'run',
    function (this: StatementSync, ...args: unknown[]) {
      begun.push(this.sourceSQL);
      return Reflect.apply(run, this, args);
    },
  );
  try {
    await work();
  } finally {
    counting.mock.restore();
  }
  return begun;
}

test('look-ups of one turn are one transaction', async (t) => {
  const storage = openSqliteStorage({ path: join(folder, 'turn.db'), issuer: 'https://issuer.example' });
  t.after(() => storage.close());
  await storage.clients.add(newClient('app'));
  const token = newToken('app');
  await storage.tokens.issue([token], {});
  const lookUps = () => [
    storage.tokens.getByAccessToken(token.id),
    storage.tokens.getByRefreshToken('unknown'),
    storage.clients.get('app'),
    storage.authorizationCodes.get('unknown'),
  ];
  assert.deepEqual(await transactionsOf(t, () => Promise.all([...lookUps(), ...lookUps()])), [
    'BEGIN',
    'COMMIT',
  ]);
  const twoTurns = async () => {
    await Promise.all(lookUps());
    await Promise.all(lookUps());
  };
  assert.deepEqual(await transactionsOf(t, twoTurns), ['BEGIN', 'COMMIT', 'BEGIN', 'COMMIT']);
});

test('look-ups of one turn see one state of the database, those of the next one what was committed meanwhile', async (t) => {
  const { one, other } = openTwo(t);
  const counts = await Promise.all([
    one.reads.read(one.count),
    one.reads.read(() => other.note()),
    one.reads.read(one.count),
  ]);
  assert.deepEqual(counts, [0, undefined, 0]);
  assert.deepEqual(await Promise.all([one.reads.read(one.count), one.reads.read(one.count)]), [1, 1]);
});

test('a look-up sees what was committed after it was asked for, and before the turn was over', async (t) => {
  const { one, other } = openTwo(t);
  const counted = Promise.all([one.reads.read(one.count), one.reads.read(one.count)]);
  other.note();
  assert.deepEqual(await counted, [1, 1]);
});

test('a look-up that throws is rejected alone', async (t) => {
  const { one } = openTwo(t);
  const failure = new Error('of this one alone');
  const outcomes = await Promise.allSettled([
    one.reads.read(one.count),
    one.reads.read(() => {
      throw failure;
    }),
    one.reads.read(() => one.database.prepare('SELECT missing')),
    one.reads.read(one.count),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : reasonOf(outcome.reason))),
    [0, 'Error: of this one alone', 'Error: no such column: missing', 0],
  );
  assert.equal(one.database.isTransaction, false);
  assert.equal(await one.reads.read(one.count), 0);
});

test('if the transaction ends early, lookups are answered or rejected, and the next batch works as usual', async (t) => {
  const { one, other } = openTwo(t);
  const outcomes = await Promise.allSettled([
    one.reads.read(one.count),
    one.reads.read(() => one.database.exec('ROLLBACK')), // like SQLite itself after some errors
    one.reads.read(one.count),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled'],
  );
  other.note();
  assert.deepEqual(await Promise.all([one.reads.read(one.count), one.reads.read(one.count)]), [1, 1]);
});

test('the state has another number after each commit, by whichever connection', async (t) => {
  const { one, other } = openTwo(t);
  const state = async () => {
    const [first, second] = await Promise.all([
      one.reads.read(() => one.reads.stateNumber),
      one.reads.read(() => one.reads.stateNumber),
    ]);
    assert.equal(first, second);
    return first;
  };
  const begin = await state();
  assert.equal(await state(), begin);
  other.note();
  const afterOther = await state();
  assert.ok(afterOther > begin);
  await one.writes.transaction(one.note);
  const afterOwn = await state();
  assert.ok(afterOwn > afterOther);
  await assert.rejects(one.writes.transaction(() => one.database.exec('nothing')));
  const afterFailed = await state();
  other.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.database.exec('VACUUM');
  other.note();
  assert.ok((await state()) > afterFailed);
});

test('a commit that failed is taken for one that may have happened', async (t) => {
  const { one } = openTwo(t);
  const state = () => one.reads.read(() => one.reads.stateNumber);
  const before = await state();
  await assert.rejects(one.writes.transaction(() => one.database.exec('nothing')));
  assert.ok((await state()) > before);
});

test('once another program has migrated the file, nothing is read or written any more', async (t) => {
  const { one, other } = openTwo(t);
  assert.equal(await one.reads.read(one.count), 0);
  other.database.exec('PRAGMA user_version = 7');
  const migrated = faultBy(
    /migrated from schema 1 to 7 while it was open: the program has to be started again/,
  );
  for (const _ of ['at first', 'again']) {
    await assert.rejects(one.reads.read(one.count), migrated);
    await assert.rejects(one.writes.transaction(one.note), migrated);
  }
  assert.equal(one.database.isTransaction, false);
  assert.equal(other.count(), 0);
});

test('look-ups that wait when the file is closed are rejected, and so are later ones', async (t) => {
  for (const waiting of [1, 3]) {
    const { one } = openTwo(t);
    const asked = Promise.allSettled(Array.from({ length: waiting }, () => one.reads.read(one.count)));
    one.database.close();
    for (const outcome of await asked) {
      assert.equal(outcome.status, 'rejected');
      assert.match(reasonOf(outcome.reason), /database is not open|statement has been finalized/);
    }
    await assert.rejects(one.reads.read(one.count));
  }
});

test('writes and look-ups of one turn do not get into each other’s transactions', async (t) => {
  const { one } = openTwo(t);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => [
      one.reads.read(one.count),
      one.writes
        .transaction(() => {
          one.note();
          if (index % 3 === 0) throw new Error('undone');
          return -1;
        })
        .catch(() => -2),
      one.reads.read(one.count),
    ]).flat(),
  );
  assert.equal(results.filter((result) => result === -1).length, 13);
  for (const count of results.filter((result) => result >= 0))
    assert.ok(count === 0 || count === 13, `${count}`);
  assert.equal(await one.reads.read(one.count), 13);
});
