import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { disposableDatabase, sharedPostgres } from '../../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../../core/test/harness/postgres_installation.ts';
import { ask } from '../../../core/test/harness/postgres_server.ts';
import { environmentOf } from './program.ts';

/** What the program runs on. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** Why its tests are skipped here. */
  readonly absence: string | false;
  /** Matches what the program calls a database of a test. */
  readonly calledAs: string;
  /** Stands before the names of tables. */
  readonly schema: '' | 'grantd.';
  /** Does what a newer program does that migrates the library's tables. */
  readonly newerStoreTables: string;
  /** What it says where a table is gone. */
  readonly tableIsGone: string;
  /** Variables with which the program finds a database that nobody else uses. */
  newDatabase(): Promise<Readonly<Record<string, string>>>;
  /** Runs a statement past the program. @param folder where the program runs */
  run(folder: string, sql: string): Promise<void>;
}

const SQLITE: TestDatabase = {
  name: 'SQLite',
  absence: false,
  calledAs: String.raw`\S+/grantd-data/grantd\.db`,
  schema: '',
  newerStoreTables: 'PRAGMA user_version = 99',
  tableIsGone: 'no such table',
  newDatabase: async () => ({}),
  async run(folder, sql) {
    const database = new DatabaseSync(join(folder, 'grantd-data', 'grantd.db'));
    database.exec(sql);
    database.close();
  },
};

export const POSTGRESQL: TestDatabase = {
  name: 'PostgreSQL',
  absence: POSTGRES_ABSENCE,
  calledAs: String.raw`postgres://grantd@127\.0\.0\.1:\d+/test_\w+`,
  schema: 'grantd.',
  newerStoreTables: 'INSERT INTO grantd.schema_versions (version) VALUES (99)',
  tableIsGone: 'does not exist',
  newDatabase: async () => ({
    GRANTD_DATABASE: await disposableDatabase(await sharedPostgres()),
    GRANTD_SECRET: randomBytes(32).toString('base64url'),
    GRANTD_CREATE: 'true',
  }),
  async run(folder, sql) {
    await ask({ url: environmentOf(folder).GRANTD_DATABASE ?? '' }, sql);
  },
};

export const DATABASES: readonly TestDatabase[] = [SQLITE, POSTGRESQL];

/** For rules that no database can break; `scripts/test.ts --every-pair` runs them on each. */
export const ANY_DATABASE: readonly TestDatabase[] =
  process.env.TEST_EVERY_PAIR === 'yes' ? DATABASES : [SQLITE];
