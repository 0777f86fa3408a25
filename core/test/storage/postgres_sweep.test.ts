import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newClient, newCode, newToken } from './samples.ts';

/** Seconds. */
const DAY = 24 * 60 * 60;

describe('sweeping on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
  });
  after(() => stores.end());

  test('is done by one process at a time, and skips rows that another transaction is changing', async () => {
    const clock = { nowMs: Date.now() };
    const goingBy = { clock: () => clock.nowMs };
    const storage = await stores.open(goingBy);
    const another = await stores.openAnother(storage, goingBy);
    await storage.clients.add(newClient('client'));
    const tokens = Array.from({ length: 10 }, () => newToken('client'));
    await storage.tokens.issue(tokens, {});
    clock.nowMs += 2 * 3600 * 1000;

    const busy = await stores.pool.connect();
    await busy.query('BEGIN');
    await busy.query('SELECT FROM grantd.sweeps FOR UPDATE');
    assert.equal(await another.sweep(100), 0);
    await busy.query('ROLLBACK; BEGIN');
    await busy.query('SELECT FROM grantd.tokens WHERE id = $1 FOR UPDATE', [tokens[0]?.id]);
    assert.equal(await another.sweep(100), 9);
    await busy.query('ROLLBACK');
    busy.release();
    assert.equal(await storage.sweep(100), 1);
  });

  test('forgets that a user ended exchanges a day after the last token from before it, and not earlier', async () => {
    const clock = { nowMs: Date.now() };
    const storage = await stores.open({ clock: () => clock.nowMs });
    await storage.clients.add(newClient('client'));
    await storage.tokens.issue([newToken('client')], {});
    await storage.revokeGrants('user', 'client');
    const rows = async () => (await stores.pool.query('SELECT FROM grantd.exchange_ends')).rowCount;
    clock.nowMs += (DAY + 3000) * 1000;
    while ((await storage.sweep(10)) > 0);
    assert.equal(await rows(), 1);
    clock.nowMs += 3600 * 1000;
    assert.equal(await storage.sweep(10), 1);
    assert.equal(await rows(), 0);
  });

  test('takes a grant along with its principal, as many a call as it may, and no other', async () => {
    const clock = { nowMs: Date.now() };
    const storage = await stores.open({ clock: () => clock.nowMs });
    await storage.clients.add(newClient('client'));
    const over = ['a', 'b', 'c'].map((id) => newCode('client', id));
    const later = newCode('client', 'later');
    for (const code of over) await storage.authorizationCodes.issue(code, {});
    await storage.authorizationCodes.issue({ ...later, expiresAt: later.expiresAt + 2 * DAY }, {});
    const rowsOf = async (sql: string) => (await stores.pool.query(sql)).rows.map(({ id }) => id);

    // A code expires after an hour. It may be newer than the clock, because it is made afterwards.
    clock.nowMs += (DAY + 2 * 3600) * 1000;
    const twoOfEach = 2 + 2 + 2;
    assert.deepEqual(
      [await storage.sweep(2), await storage.sweep(2), await storage.sweep(2)],
      [twoOfEach, 3, 0],
    );
    const left = [later.grantId];
    assert.deepEqual(await rowsOf('SELECT grant_id AS id FROM grantd.grants'), left);
    assert.deepEqual(await rowsOf("SELECT id FROM grantd.principals WHERE kind = 'grant'"), left);
  });

  test('an identifier that is taken while a sweep deletes it counts as used', async () => {
    const clock = { nowMs: Date.now() };
    const storage = await stores.open({ clock: () => clock.nowMs });
    const expiresAt = Math.floor(clock.nowMs / 1000) + 60;
    assert.equal(await storage.oneTimeIdentifiers.take('one', expiresAt), true);

    const sweeper = await stores.pool.connect();
    await sweeper.query('BEGIN');
    await sweeper.query('DELETE FROM grantd.one_time_identifiers');
    await sweeper.query('UPDATE grantd.issuers SET forgotten_until = $1', [expiresAt]);
    const taking = storage.oneTimeIdentifiers.take('one', expiresAt);
    for (;;) {
      const waiting =
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
      if ((await stores.pool.query(waiting)).rowCount === 1) break;
    }
    await sweeper.query('COMMIT');
    sweeper.release();
    assert.equal(await taking, false);
    assert.equal(await storage.oneTimeIdentifiers.take('another', expiresAt + 1), true);
  });

  test('deletes events that are old enough, numbered or not', async () => {
    const clock = { nowMs: Date.now() };
    const storage = await stores.open({ clock: () => clock.nowMs, eventRetentionSeconds: DAY });
    const disable = async (...ids: readonly string[]) => {
      for (const id of ids) await storage.setDisabled('subject', id, true);
    };
    await disable('numbered 1', 'numbered 2', 'numbered 3');
    assert.equal((await storage.eventsAfter(0, 10)).length, 3);
    await disable('waiting 1', 'waiting 2', 'waiting 3');
    clock.nowMs += 1000 * DAY;
    await disable('young');

    assert.deepEqual([await storage.sweep(2), await storage.sweep(2), await storage.sweep(2)], [4, 2, 0]);
    assert.deepEqual(
      (await storage.eventsAfter(0, 10)).map(({ target, sequence }) => [target, sequence]),
      [['young', 4]],
    );
    assert.equal(await storage.sweep(2), 0);
  });
});
