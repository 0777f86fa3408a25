import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { sweep } from '@grantd/core';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import * as addGrantd from '../storage/kysely/migration.ts';
import { kyselyStorage, saveClient } from '../storage/kysely/storage.ts';
import type { GrantdTables } from '../storage/kysely/tables.ts';
import { testConcurrency } from './concurrency_of_store.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { testLocks } from './locks_of_store.ts';
import { type Host, testHost, testServing } from './serving.ts';

describe('Kysely', { skip: POSTGRES_ABSENCE }, () => {
  let url: string;
  let db: Kysely<GrantdTables>;

  const connect = (options = '') =>
    new Kysely<GrantdTables>({
      dialect: new PostgresDialect({ pool: new Pool({ connectionString: url, max: 4, options }) }),
    });

  const store: ExampleStore = {
    empty: () =>
      sql`TRUNCATE users, oauth_clients, oauth_grants, oauth_keys, oauth_pending,
      oauth_one_time_identifiers CASCADE`.execute(db),
    connect(clock, settings) {
      const own = connect(settings);
      return {
        storage: kyselyStorage(own, clock),
        saveClient: (client) => saveClient(own, client),
        addUser: (id) =>
          own
            .insertInto('users')
            .values({ id })
            .onConflict((conflict) => conflict.doNothing())
            .execute(),
        end: () => own.destroy(),
      };
    },
  };

  before(async () => {
    url = await disposableDatabase(await sharedPostgres());
    db = connect();
    await sql`CREATE TABLE users (id text PRIMARY KEY, email text)`.execute(db);
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => ({ '1_grantd': addGrantd }) },
    });
    assert.equal((await migrator.migrateToLatest()).error, undefined);
  });
  after(() => db.destroy());

  testByKit('Kysely', () => store);
  testServing('Kysely', () => store);

  const user = (id: string) => db.updateTable('users').where('id', '=', id);
  const host: Required<Host> = {
    setDisabled: (id, isDisabled) =>
      user(id)
        .set({ disabled_at: isDisabled ? new Date() : null })
        .execute(),
    signOut: (id) =>
      user(id)
        .set(({ eb }) => ({ token_generation: eb('token_generation', '+', 1) }))
        .execute(),
    removeClient: (id) => db.deleteFrom('oauth_clients').where('id', '=', id).execute(),
    removeUser: (id) => db.deleteFrom('users').where('id', '=', id).execute(),
    transaction: (work) =>
      db.transaction().execute((trx) => {
        const disable = (id: string) =>
          trx.updateTable('users').set({ disabled_at: new Date() }).where('id', '=', id).execute();
        const remove = (id: string) => trx.deleteFrom('users').where('id', '=', id).execute();
        return work(kyselyStorage(trx), disable, remove);
      }),
    async isWaiting() {
      const { rows } = await sql`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    },
    sweep: (now) => sweep(kyselyStorage(db, () => now.getTime())),
  };
  testHost('Kysely', () => store, host);
  testConcurrency('Kysely', () => store, host);
  testLocks('Kysely', () => store, host);
});
