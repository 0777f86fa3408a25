import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { disposableDatabase, sharedPostgres } from '../../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../../core/test/harness/postgres_installation.ts';
import { ask } from '../../../core/test/harness/postgres_server.ts';
import { emptyPostgres } from './empty_databases.ts';
import { environmentOf } from './program.ts';

/** The database of the program. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** Why its tests are skipped here. */
  readonly absence: string | false;
  /** Matches the program's name of a test database. */
  readonly calledAs: string;
  /** Prefix of table names. */
  readonly schema: '' | 'grantd.';
  /** Marks the library's tables as migrated by a newer program. */
  readonly newerStoreTables: string;
  /** Marks the program's tables likewise. */
  readonly newerProgramTables: string;
  /** The error text for a missing table. */
  readonly tableIsGone: string;
  /** Variables for a new database, which has its tables on PostgreSQL. */
  newDatabase(): Promise<Readonly<Record<string, string>>>;
  /**
   * Runs a statement directly on the database.
   * @param folder where the program runs
   */
  run(folder: string, sql: string): Promise<void>;
}

export const SQLITE: TestDatabase = {
  name: 'SQLite',
  absence: false,
  calledAs: String.raw`\S+/grantd-data/grantd\.db`,
  schema: '',
  newerStoreTables: 'PRAGMA user_version = 99; UPDATE schema_floor SET version = 99',
  newerProgramTables: 'UPDATE program_schema SET version = 99; UPDATE program_schema_floor SET version = 99',
  tableIsGone: 'no such table',
  newDatabase: async () => ({}),
  async run(folder, sql) {
    // A running server may write at the same moment.
    const database = new DatabaseSync(join(folder, 'grantd-data', 'grantd.db'), { timeout: 5_000 });
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
  newerProgramTables: 'UPDATE grantd.program_schema SET version = 99, floor = 99',
  tableIsGone: 'does not exist',
  newDatabase: async () => variablesFor(await emptyPostgres()),
  async run(folder, sql) {
    await ask({ url: environmentOf(folder).GRANTD_DATABASE ?? '' }, sql);
  },
};

/** For tests of how a database gets its tables. */
export const BARE_POSTGRESQL: TestDatabase = {
  ...POSTGRESQL,
  newDatabase: async () => variablesFor(await disposableDatabase(await sharedPostgres())),
};

function variablesFor(url: string): Readonly<Record<string, string>> {
  return {
    GRANTD_DATABASE: url,
    GRANTD_SECRET: randomBytes(32).toString('base64url'),
    GRANTD_CREATE: 'true',
  };
}

export const DATABASES: readonly TestDatabase[] = [SQLITE, POSTGRESQL];

/** For rules that do not depend on the database. `scripts/test.ts --every-pair` runs them on each. */
export const ANY_DATABASE: readonly TestDatabase[] =
  process.env.TEST_EVERY_PAIR === 'yes' ? DATABASES : [SQLITE];
