import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { sweep } from '@grantd/core';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import * as schema from '../storage/drizzle/schema.ts';
import type { Db } from '../storage/drizzle/statements.ts';
import { drizzleStorage, saveClient } from '../storage/drizzle/storage.ts';
import { testConcurrency } from './concurrency_of_store.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { testLocks } from './locks_of_store.ts';
import { type Host, testHost, testServing } from './serving.ts';

const { users } = schema;

describe('Drizzle', { skip: POSTGRES_ABSENCE }, () => {
  let url: string;
  let pool: Pool;

  const connect = (options = '') => new Pool({ connectionString: url, max: 4, options });
  const through = (client: Pool) => drizzle({ client, schema, casing: 'snake_case' });

  const store: ExampleStore = {
    empty: () =>
      through(pool).execute(sql`TRUNCATE users, oauth_clients, oauth_grants, oauth_keys, oauth_pending,
        oauth_one_time_identifiers CASCADE`),
    connect(clock, settings) {
      const own = connect(settings);
      const db = through(own);
      return {
        storage: drizzleStorage(db, clock),
        saveClient: (client) => saveClient(db, client),
        addUser: (id) => db.insert(users).values({ id }).onConflictDoNothing(),
        end: () => own.end(),
      };
    },
  };

  before(async () => {
    url = await disposableDatabase(await sharedPostgres());
    pool = connect();
    const migrationsFolder = join(import.meta.dirname, '../storage/drizzle/migrations');
    await migrate(through(pool), { migrationsFolder });
  });
  after(() => pool.end());

  testByKit('Drizzle', () => store);
  testServing('Drizzle', () => store);

  const host: Required<Host> = {
    setDisabled: (id, isDisabled) => set(through(pool), id, { disabledAt: isDisabled ? new Date() : null }),
    async signOut(id) {
      const tokenGeneration = sql`${users.tokenGeneration} + 1`;
      await through(pool).update(users).set({ tokenGeneration }).where(eq(users.id, id));
    },
    removeClient: async (id) => through(pool).delete(schema.clients).where(eq(schema.clients.id, id)),
    removeUser: async (id) => through(pool).delete(users).where(eq(users.id, id)),
    transaction: (work) =>
      through(pool).transaction((tx) =>
        work(
          drizzleStorage(tx),
          (id) => set(tx, id, { disabledAt: new Date() }),
          async (id) => tx.delete(users).where(eq(users.id, id)),
        ),
      ),
    async isWaiting() {
      const { rows } = await pool.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length > 0;
    },
    sweep: (now) => sweep(drizzleStorage(through(pool), () => now.getTime())),
  };
  testHost('Drizzle', () => store, host);
  testConcurrency('Drizzle', () => store, host);
  testLocks('Drizzle', () => store, host);
});

async function set(db: Db, id: string, values: Partial<typeof users.$inferInsert>): Promise<void> {
  await db.update(users).set(values).where(eq(users.id, id));
}
