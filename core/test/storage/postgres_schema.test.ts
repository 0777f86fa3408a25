import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PostgresConnections } from '@grantd/core/internal/storage/postgres/connections';
import { migratePostgres } from '@grantd/core/internal/storage/postgres/schema';
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

  test('while an earlier version may write events, and after that, they get their numbers in one order', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const { versions, migrations } = STORE_TABLES;
      const connections = new PostgresConnections(own.pool);
      await migratePostgres(connections, { versions, migrations: migrations.slice(0, 7) });
      const storage = await own.open({ issuer: ISSUER });
      const byEarlier = (target: string) =>
        own.pool.query(
          `INSERT INTO grantd.events (issuer_id, at_ms, type, target)
           SELECT id, 1, 'subject_disabled', $1 FROM grantd.issuers`,
          [target],
        );
      const byThis = (subject: string) => storage.setDisabled('subject', subject, true);
      const numbered = async () =>
        (await storage.eventsAfter(0, 100)).map(({ sequence, target }) => [sequence, target]);
      await byEarlier('first');
      await byThis('second');
      assert.deepEqual(await numbered(), [
        [1, 'first'],
        [2, 'second'],
      ]);
      await byThis('third');
      await byEarlier('fourth');
      await byThis('fifth');

      await migratePostgres(connections, STORE_TABLES, 'contract');
      await byThis('sixth');
      // It finds out that it may not use the tables from the same transaction, which must not succeed.
      await assert.rejects(byEarlier('refused'), { code: '23514' });
      assert.deepEqual(await numbered(), [
        [1, 'first'],
        [2, 'second'],
        [3, 'third'],
        [4, 'fourth'],
        [5, 'fifth'],
        [6, 'sixth'],
      ]);
    } finally {
      await own.end();
    }
  });

  test('events that wait for a number are there for version 7 when the tables go back to it', async () => {
    const own = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    try {
      const { versions, migrations } = STORE_TABLES;
      const connections = new PostgresConnections(own.pool);
      await migratePostgres(connections, { versions, migrations: migrations.slice(0, 7) });
      const storage = await own.open({ issuer: ISSUER });
      await storage.setDisabled('subject', 'waiting', true);
      await migratePostgres(connections, STORE_TABLES, { downTo: 7 });
      const { rows } = await own.pool.query('SELECT target FROM grantd.events WHERE sequence IS NULL');
      assert.deepEqual(rows, [{ target: 'waiting' }]);
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
