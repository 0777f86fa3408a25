import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sweep } from '@grantd/core';
import { PrismaPg } from '@prisma/adapter-pg';
import { Client, Pool } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { testConcurrency } from './concurrency_of_store.ts';
import { type ExampleStore, testByKit } from './kit_of_store.ts';
import { testLocks } from './locks_of_store.ts';
import { generateClient } from './prisma_client.ts';
import { type Host, serving, testHost, testServing } from './serving.ts';

const FOLDER = join(import.meta.dirname, '../storage/prisma');
const COMPILER = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

await generateClient(join(FOLDER, 'schema.prisma'));
const { PrismaClient } = await import('../storage/prisma/generated/client.ts');
const { prismaStorage, saveClient } = await import('../storage/prisma/storage.ts');

// `npm test` does not check the types of files that import the client, because the client may be missing.
test('Prisma: the types of the example are right, with the client as it was generated', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMPILER, '-p', FOLDER], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
});

describe('Prisma', { skip: POSTGRES_ABSENCE }, () => {
  let url: string;
  let db: InstanceType<typeof PrismaClient>;
  let end: () => Promise<void>;

  // After `$disconnect`, Prisma reconnects by itself. Over an ended pool it cannot.
  const connect = (options = '') => {
    const pool = new Pool({ connectionString: url, max: 4, options });
    const client = new PrismaClient({ adapter: new PrismaPg(pool) });
    const end = async () => {
      await client.$disconnect();
      await pool.end();
    };
    return { client, end };
  };

  const store: ExampleStore = {
    empty: () => db.$executeRaw`TRUNCATE users, oauth_clients, oauth_grants, oauth_keys, oauth_pending,
      oauth_one_time_identifiers CASCADE`,
    connect(clock, settings) {
      const { client: own, end } = connect(settings);
      return {
        storage: prismaStorage(own, clock),
        saveClient: (client) => saveClient(own, client),
        addUser: (id) => own.user.createMany({ data: { id }, skipDuplicates: true }),
        end,
      };
    },
  };

  before(async () => {
    url = await disposableDatabase(await sharedPostgres());
    // `prisma migrate deploy` would do this, but needs an engine that is not on npm.
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('CREATE TABLE users (id text PRIMARY KEY, email text)');
    await client.query(readFileSync(join(FOLDER, 'migrations/0001_grantd/migration.sql'), 'utf8'));
    await client.end();
    ({ client: db, end } = connect());
  });
  after(() => end());

  test('Prisma: a token is looked up by one statement, with its client, user and grant', async () => {
    const { tokenOf, recordOf, end } = await serving(store);
    const { id } = await recordOf(await tokenOf('alice'));
    const pool = new Pool({ connectionString: url });
    const logged = new PrismaClient({
      adapter: new PrismaPg(pool),
      log: [{ emit: 'event', level: 'query' }],
    });
    const statements: string[] = [];
    logged.$on('query', ({ query }) => statements.push(query));
    assert.equal((await prismaStorage(logged).tokens.getByAccessToken(id))?.id, id);
    assert.equal(statements.length, 1, statements.join('\n'));
    await logged.$disconnect();
    await pool.end();
    await end();
  });

  testByKit('Prisma', () => store);
  testServing('Prisma', () => store);

  const host: Required<Host> = {
    setDisabled: (id, isDisabled) =>
      db.user.update({ where: { id }, data: { disabledAt: isDisabled ? new Date() : null } }),
    signOut: (id) => db.user.update({ where: { id }, data: { tokenGeneration: { increment: 1 } } }),
    removeClient: (id) => db.client.delete({ where: { id } }),
    removeUser: (id) => db.user.delete({ where: { id } }),
    transaction: (work) =>
      db.$transaction((tx) =>
        work(
          prismaStorage(tx),
          (id) => tx.user.update({ where: { id }, data: { disabledAt: new Date() } }),
          (id) => tx.user.delete({ where: { id } }),
        ),
      ),
    async isWaiting() {
      const rows = await db.$queryRaw<readonly unknown[]>`
        SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return rows.length > 0;
    },
    sweep: (now) => sweep(prismaStorage(db, () => now.getTime())),
  };
  testHost('Prisma', () => store, host);
  testConcurrency('Prisma', () => store, host);
  testLocks('Prisma', () => store, host);
});
