import {
  importPostgres,
  migratePostgres,
  PostgresConnections,
  readStoredIssuer,
} from '@grantd/core/postgres';
import { exportSqlite } from '@grantd/core/sqlite';
import { Refused } from '../config/refused.ts';
import { isOutdated } from './database.ts';
import {
  addressOf,
  deadlinesOf,
  openPool,
  type PostgresLimits,
  requireConnection,
} from './postgres_database.ts';
import { PROGRAM_TABLES } from './postgres_tables.ts';
import { sqliteDatabase } from './sqlite_database.ts';
import { SQLITE_TABLES_TO_COPY } from './sqlite_tables.ts';

interface CopyOptions extends PostgresLimits {
  /** Receives the number of rows of a table copied so far. */
  readonly onRows: (table: string, rows: number) => void;
}

/**
 * Copies a database file with all its issuers to an empty PostgreSQL database: everything or nothing. Blocks writes to
 * the file meanwhile.
 * @returns the number of copied rows by table
 * @throws {Refused} the file does not exist, or the PostgreSQL database is not empty or not reachable
 */
export async function copyToPostgres(
  path: string,
  url: string,
  { onRows, ...limits }: CopyOptions,
): Promise<ReadonlyMap<string, number>> {
  const issuer = await sqliteDatabase(path).storedIssuer();
  if (issuer === undefined)
    throw new Refused(`the database ${path} does not exist: choose another with --database.`);

  const address = addressOf(url);
  const { pool, close } = openPool(url, limits, () => {});
  const deadlines = deadlinesOf(limits);
  try {
    await requireConnection(pool, address);
    const there = await readStoredIssuer(pool, deadlines);
    if (there !== undefined) {
      throw new Refused(
        `the database ${address.name} is not empty: it belongs to the issuer ${there}. Choose an empty database with --to.`,
      );
    }
    await bringUpToDate(path, issuer);
    await migratePostgres(new PostgresConnections(pool, deadlines), PROGRAM_TABLES);
    const rows = exportSqlite({ path, hostTables: SQLITE_TABLES_TO_COPY });
    return await importPostgres(rows, { pool, onRows, ...deadlines });
  } finally {
    await close();
  }
}

/**
 * Migrates a file of an earlier version. No other process may use it, which holds for the copy too.
 * @throws {Refused} another process uses the file
 */
async function bringUpToDate(path: string, issuer: string): Promise<void> {
  const database = sqliteDatabase(path);
  try {
    const found = await database.schemas();
    if (found === undefined || !isOutdated(found)) return;
    await database.migrate('up', false);
    await database.open(issuer);
  } finally {
    await database.close();
  }
}
