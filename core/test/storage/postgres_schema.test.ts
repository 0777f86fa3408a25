import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PostgresConnections } from '@grantd/core/internal/storage/postgres/connections';
import { migratePostgres } from '@grantd/core/internal/storage/postgres/migrate';
import { openPostgresStorage } from '@grantd/core/postgres';
import { neededVersion } from '../../src/storage/migrations.ts';
import { STORE_TABLES } from '../../src/storage/postgres/schema.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { assertColumns, COLUMNS_OF_TABLES } from './columns_of_tables.ts';
import {
  goesOnWithRowsBeforeApis,
  goesOnWithRowsBeforeGrants,
  ISSUER,
  NOW_MS,
  rowsBeforeApis,
  rowsBeforeGrants,
} from './rows_before_grants.ts';
import { newClient, newToken } from './samples.ts';

describe('the schema on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
  });
  after(() => stores.end());

  test('a database of version 1 is brought up to date, and what was alive in it lives on', async () => {
    const { versions, migrations } = STORE_TABLES;
    const connections = new PostgresConnections(stores.pool);
    await migratePostgres(connections, { versions, migrations: migrations.slice(0, 1) });
    await stores.pool.query(rowsBeforeGrants('grantd.'));

    const storage = await stores.open({ issuer: ISSUER, clock: () => NOW_MS });
    const { rows } = await stores.pool.query('SELECT max(version) AS version FROM grantd.schema_versions');
    // What only earlier versions need stays until the operator removes it.
    assert.deepEqual(rows, [{ version: neededVersion(migrations) }]);
    await goesOnWithRowsBeforeGrants(storage);
  });

  test('clients in a database of version 2 keep the APIs that they could ask for, which is said once', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const { versions, migrations } = STORE_TABLES;
      const connections = new PostgresConnections(own.pool);
      await migratePostgres(connections, { versions, migrations: migrations.slice(0, 2) });
      await own.pool.query(rowsBeforeApis('grantd.'));
      const assumed: string[] = [];
      const options = {
        pool: own.pool,
        issuer: ISSUER,
        onAssumption: (assumption: string) => assumed.push(assumption),
      };
      await goesOnWithRowsBeforeApis(await openPostgresStorage(options));
      await openPostgresStorage(options);
      assert.deepEqual(assumed, ['clients_allowed_every_api']);
    } finally {
      await own.end();
    }
  });

  test('events of earlier versions get their numbers first, and an earlier version can write no more of them', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const { versions, migrations } = STORE_TABLES;
      const connections = new PostgresConnections(own.pool);
      await migratePostgres(connections, { versions, migrations: migrations.slice(0, 7) });
      const byEarlier = (target: string) =>
        own.pool.query(
          `INSERT INTO grantd.events (issuer_id, at_ms, type, target)
           SELECT id, 1, 'subject_disabled', $1 FROM grantd.issuers`,
          [target],
        );
      await own.pool.query('INSERT INTO grantd.issuers (issuer) VALUES ($1)', [ISSUER]);
      await byEarlier('first');
      await byEarlier('second');
      const storage = await own.open({ issuer: ISSUER });
      await storage.setDisabled('subject', 'third', true);
      // It finds out that it may not use the tables from the same transaction, which must not succeed.
      await assert.rejects(byEarlier('refused'), { code: '23514' });
      await storage.setDisabled('subject', 'fourth', true);
      const numbered = (await storage.eventsAfter(0, 100)).map(({ sequence, target }) => [sequence, target]);
      assert.deepEqual(numbered, [
        [1, 'first'],
        [2, 'second'],
        [3, 'third'],
        [4, 'fourth'],
      ]);
    } finally {
      await own.end();
    }
  });

  test('registrations of earlier versions count as used at the migration, and as long as they have tokens', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const registered = { registrationTokenDigest: 'digest', registeredAt: 1 };
      const expiresAt = Math.floor(Date.now() / 1000) + 90 * 24 * 60 * 60;
      const before = await own.open({ issuer: ISSUER });
      await before.clients.add({ ...newClient('idle'), ...registered });
      await before.clients.add({ ...newClient('busy'), ...registered });
      await before.tokens.issue([newToken('busy', { expiresAt, keepUntil: expiresAt })], {});
      const connections = new PostgresConnections(own.pool);
      await migratePostgres(connections, STORE_TABLES, { downTo: 9 });

      const from = Math.floor(Date.now() / 1000);
      const storage = await own.open({ issuer: ISSUER });
      const used = async (id: string) => (await storage.clients.get(id))?.usedUntil ?? 0;
      const idle = await used('idle');
      assert.ok(Math.abs(idle - from) < 60, String(idle));
      assert.equal(await used('busy'), expiresAt);
    } finally {
      await own.end();
    }
  });

  test('pushed requests of an earlier version are pending rows, and the earlier version goes on with them', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const before = await own.open({ issuer: ISSUER });
      const kept = { kind: 'pushed_request', id: 'kept', clientId: 'app', expiresAt: 60 } as const;
      const data = { scope: 'é "x" \0' };
      await before.pending.add({ ...kept, data });
      await migratePostgres(new PostgresConnections(own.pool), STORE_TABLES, { downTo: 9 });
      const add = (id: string, until: number) =>
        own.pool.query(
          `INSERT INTO grantd.pushed_requests (issuer_id, id, client_id, parameters, expires_at)
           SELECT i.id, n.* FROM grantd.issuers i, json_to_record($1) AS n (
             id text, client_id text, parameters text, expires_at bigint)`,
          [JSON.stringify({ id, client_id: 'app', parameters: '{"a":"b"}', expires_at: until })],
        );
      await add('before', 61);

      const storage = await own.open({ issuer: ISSUER });
      const found = async (id: string) => (await storage.pending.get('pushed_request', id))?.data;
      assert.deepEqual([await found('kept'), await found('before')], [data, { a: 'b' }]);
      await add('after', 62);
      assert.deepEqual(await found('after'), { a: 'b' });
      const { rows } = await own.pool.query(
        "SELECT id, client_id, parameters, expires_at::int FROM grantd.pushed_requests WHERE id = 'kept'",
      );
      assert.deepEqual(Object.values(rows[0]), ['kept', 'app', JSON.stringify(data), 60]);
      await own.pool.query("DELETE FROM grantd.pushed_requests WHERE id = 'kept'");
      assert.equal(await found('kept'), undefined);
      await own.pool.query(`
        DELETE FROM grantd.pushed_requests WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM grantd.pushed_requests WHERE issuer_id > 0 AND expires_at <= 62
          ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED))`);
      assert.deepEqual([await found('before'), await found('after')], [undefined, { a: 'b' }]);
    } finally {
      await own.end();
    }
  });

  test('the tables have the columns that their records are read from', async () => {
    await (await stores.open()).close();
    for (const table of Object.keys(COLUMNS_OF_TABLES)) {
      const { rows } = await stores.pool.query({
        text: `SELECT column_name AS name, data_type AS type, is_nullable = 'YES' AS "isNullable"
          FROM information_schema.columns WHERE table_schema = 'grantd' AND table_name = $1`,
        values: [table],
      });
      assertColumns(table, 'postgres', rows);
    }
  });
});
