import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newClient, newToken } from './samples.ts';

describe('the order of events on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()), { max: 20 });
  });
  after(() => stores.end());

  test('a reader that was there first does not miss what began earlier and is committed later', async () => {
    const storage = await stores.open();
    for (const id of ['late', 'early', 'last']) await storage.clients.add(newClient(id));
    // An event with its row, in a transaction that is still open.
    const slow = await stores.pool.connect();
    await slow.query('BEGIN');
    await slow.query(
      `INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target)
       SELECT id, 1, 'client_revoked', 'late' FROM grantd.issuers WHERE issuer = $1`,
      [stores.issuerOf(storage)],
    );
    await storage.revokeAll({ principal: 'client', id: 'early' });
    const first = await storage.eventsAfter(0, 10);
    assert.deepEqual(
      first.map(({ target, sequence }) => [target, sequence]),
      [['early', 1]],
    );

    await slow.query('COMMIT');
    slow.release();
    await storage.revokeAll({ principal: 'client', id: 'last' });
    const next = await storage.eventsAfter(1, 10);
    assert.deepEqual(
      next.map(({ target, sequence }) => [target, sequence]),
      [
        ['late', 2],
        ['last', 3],
      ],
    );
  });

  test('readers that follow while many write see every event once, in the order of their numbers', async () => {
    const storage = await stores.open();
    const another = await stores.openAnother(storage);
    await storage.clients.add(newClient('client'));
    const tokens = Array.from({ length: 300 }, () => newToken('client'));
    for (let i = 0; i < tokens.length; i += 50) await storage.tokens.issue(tokens.slice(i, i + 50), {});

    let isWriting = true;
    const follow = async (reader: typeof storage) => {
      const seen: { sequence: number; target: string }[] = [];
      for (;;) {
        const wasWriting = isWriting;
        const events = await reader.eventsAfter(seen.at(-1)?.sequence ?? 0, 7);
        seen.push(...events);
        if (!wasWriting && events.length === 0) return seen;
      }
    };
    const following = [follow(storage), follow(another), follow(another)];
    await Promise.all(
      tokens.map(async (token, index) => [storage, another][index % 2]?.tokens.revoke({ ...token })),
    );
    isWriting = false;
    const [one = [], ...others] = await Promise.all(following);
    assert.deepEqual(
      one.map(({ sequence }) => sequence),
      tokens.map((_, index) => index + 1),
    );
    assert.deepEqual(new Set(one.map(({ target }) => target)), new Set(tokens.map(({ id }) => id)));
    for (const other of others) assert.deepEqual(other, one);
  });

  test('a reader that finds nothing new waits for no lock and changes nothing', async () => {
    const storage = await stores.open();
    await storage.clients.add(newClient('client'));
    await storage.setDisabled('client', 'client', true);
    const events = await storage.eventsAfter(0, 10);
    const holder = await stores.pool.connect();
    await holder.query('BEGIN');
    const locked = await holder.query('SELECT last_event_sequence FROM grantd.issuers FOR UPDATE');
    assert.ok(locked.rows.length > 0);
    assert.deepEqual(await storage.eventsAfter(0, 10), events);
    assert.deepEqual(await storage.eventsAfter(1, 10), []);

    // Something new gets its number first.
    await holder.query(
      `INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target)
       SELECT id, 1, 'client_revoked', 'client' FROM grantd.issuers WHERE issuer = $1`,
      [stores.issuerOf(storage)],
    );
    await holder.query('COMMIT');
    holder.release();
    assert.deepEqual(
      (await storage.eventsAfter(1, 10)).map(({ sequence, type }) => [sequence, type]),
      [[2, 'client_revoked']],
    );
  });

  test('what was answered first has the lower number', async () => {
    const storage = await stores.open();
    const ids = Array.from({ length: 20 }, (_, index) => `client-${index}`);
    for (const id of ids) await storage.clients.add(newClient(id));
    for (const id of ids) await storage.setDisabled('client', id, true);
    const events = await storage.eventsAfter(0, 100);
    assert.deepEqual(
      events.map(({ target }) => target),
      ids,
    );
  });
});
