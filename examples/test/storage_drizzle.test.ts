import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import * as schema from '../storage/drizzle/schema.ts';
import { type Db, drizzleStorage, saveClient, sweep } from '../storage/drizzle/storage.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { testHost, testServing } from './serving.ts';

const { users } = schema;

describe('Drizzle', { skip: POSTGRES_ABSENCE }, () => {
  let url: string;
  let pool: Pool;

  const connect = () => new Pool({ connectionString: url, max: 4 });
  const through = (client: Pool) => drizzle({ client, schema, casing: 'snake_case' });

  const store: ExampleStore = {
    empty: () =>
      through(
        pool,
      ).execute(sql`TRUNCATE users, oauth_clients, oauth_grants, oauth_keys, oauth_pushed_requests,
        oauth_one_time_identifiers CASCADE`),
    connect(clock) {
      const own = connect();
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

  testHost('Drizzle', () => store, {
    setDisabled: (id, isDisabled) => set(through(pool), id, { disabledAt: isDisabled ? new Date() : null }),
    signOut: (id) => set(through(pool), id, { signedOutAt: new Date() }),
    removeUser: async (id) => through(pool).delete(users).where(eq(users.id, id)),
    transaction: (work) =>
      through(pool).transaction((tx) =>
        work(drizzleStorage(tx), (id) => set(tx, id, { disabledAt: new Date() })),
      ),
    database: () => url,
    sweep: (now) => sweep(through(pool), now),
  });
});

async function set(db: Db, id: string, values: Partial<typeof users.$inferInsert>): Promise<void> {
  await db.update(users).set(values).where(eq(users.id, id));
}
