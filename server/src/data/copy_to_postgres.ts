import {
  importPostgres,
  migratePostgres,
  PostgresConnections,
  readStoredIssuer,
} from '@grantd/core/postgres';
import { exportSqlite } from '@grantd/core/sqlite';
import { Refused } from '../config/refused.ts';
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
  /** Is told how many rows of a table have been copied so far. */
  readonly onRows: (table: string, rows: number) => void;
}

/**
 * Copies everything in a database file, of all its issuers, to an empty database on PostgreSQL: all of it or nothing.
 * Nobody can write to the file meanwhile.
 * @returns how many rows of each table were copied
 * @throws {Refused} there is nothing to copy, or no empty database to copy it to
 */
export async function copyToPostgres(
  path: string,
  url: string,
  { onRows, ...limits }: CopyOptions,
): Promise<ReadonlyMap<string, number>> {
  const issuer = await sqliteDatabase(path).storedIssuer();
  if (issuer === undefined) throw new Refused(`there is no database ${path}: name it with --database.`);

  const address = addressOf(url);
  const { pool, close } = openPool(url, limits, () => {});
  const deadlines = deadlinesOf(limits);
  try {
    await requireConnection(pool, address);
    const there = await readStoredIssuer(pool, deadlines);
    if (there !== undefined) {
      throw new Refused(
        `the database ${address.name} is not empty: it belongs to the issuer ${there}. Name an empty one with --to.`,
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

/** A file that an older version has left gets today's tables when it is opened. */
async function bringUpToDate(path: string, issuer: string): Promise<void> {
  const database = sqliteDatabase(path);
  await database.open(issuer);
  await database.close();
}
