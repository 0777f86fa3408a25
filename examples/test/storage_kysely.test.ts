import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import * as addGrantd from '../storage/kysely/migration.ts';
import { kyselyStorage, saveClient, sweep } from '../storage/kysely/storage.ts';
import type { GrantdTables } from '../storage/kysely/tables.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { serving, testServing } from './serving.ts';

describe('Kysely', { skip: POSTGRES_ABSENCE }, () => {
  let url: string;
  let db: Kysely<GrantdTables>;

  const connect = () =>
    new Kysely<GrantdTables>({
      dialect: new PostgresDialect({ pool: new Pool({ connectionString: url, max: 4 }) }),
    });

  const store: ExampleStore = {
    empty: () =>
      sql`TRUNCATE users, oauth_clients, oauth_grants, oauth_keys, oauth_pushed_requests,
      oauth_one_time_identifiers CASCADE`.execute(db),
    connect(clock) {
      const own = connect();
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

  test('Kysely: what the host does in its own transaction and what is revoked in it come together or not at all', async () => {
    const { tokenOf, recordOf, isActive, end } = await serving(store);
    const token = await tokenOf('alice');
    const record = await recordOf(token);
    const leave = (isSure: boolean) =>
      db.transaction().execute(async (trx) => {
        await trx.updateTable('users').set({ disabled_at: new Date() }).where('id', '=', 'bob').execute();
        await kyselyStorage(trx).tokens.revoke(record);
        if (!isSure) throw new Error('not sure');
      });
    const bobs = await tokenOf('bob');
    await assert.rejects(leave(false), /not sure/);
    assert.deepEqual([await isActive(token), await isActive(bobs)], [true, true]);
    await leave(true);
    assert.deepEqual([await isActive(token), await isActive(bobs)], [false, false]);
    await end();
  });

  test('Kysely: a person whom the host disables, signs out or deletes has no live token', async () => {
    const { tokenOf, isActive, end } = await serving(store);
    const alice = () => db.updateTable('users').where('id', '=', 'alice');
    const [before, bobs] = [await tokenOf('alice'), await tokenOf('bob')];
    await alice().set({ disabled_at: new Date() }).execute();
    assert.equal(await isActive(before), false);
    await assert.rejects(tokenOf('alice'), { name: 'OperatorIssueError' });
    await alice().set({ disabled_at: null, signed_out_at: new Date() }).execute();
    const after = await tokenOf('alice');
    assert.deepEqual([await isActive(before), await isActive(after)], [false, true]);
    await db.deleteFrom('users').where('id', '=', 'alice').execute();
    assert.deepEqual([await isActive(after), await isActive(bobs)], [false, true]);
    await end();
  });

  test('Kysely: what is over is swept, and what is not over stays', async () => {
    const { tokenOf, isActive, end } = await serving(store);
    const token = await tokenOf('alice');
    await sweep(db);
    assert.equal(await isActive(token), true);
    await sweep(db, new Date(Date.now() + 10 * 365 * 24 * 60 * 60 * 1000));
    const { rows } = await sql`SELECT id FROM oauth_tokens UNION SELECT id FROM oauth_grants`.execute(db);
    assert.deepEqual(rows, []);
    await end();
  });
});
