import { PostgresConnections, rowsOf, unnamed } from '@grantd/core/internal/storage/postgres/connections';
import { exportPostgres } from '@grantd/core/internal/storage/postgres/export';
import { importPostgres } from '@grantd/core/internal/storage/postgres/import';
import { migratePostgres, storedState } from '@grantd/core/internal/storage/postgres/migrate';
import { readStoredIssuer, STORE_TABLES } from '@grantd/core/internal/storage/postgres/schema';
import { exportSqlite } from '@grantd/core/internal/storage/sqlite/export';
import { importSqlite } from '@grantd/core/internal/storage/sqlite/import';
import type { PostgresDeadlines } from '@grantd/core/postgres';
import type { Pool } from 'pg';
import { Refused } from '../config/refused.ts';
import { isOutdated } from './database.ts';
import {
  addressOf,
  asDatabase,
  deadlinesOf,
  openPool,
  type PostgresAddress,
  type PostgresLimits,
  requireConnection,
} from './postgres_database.ts';
import { PROGRAM_TABLES } from './postgres_tables.ts';
import { TABLES_TO_COPY } from './program_migrations.ts';
import { sqliteDatabase } from './sqlite_database.ts';
import { migrateProgramTables } from './sqlite_tables.ts';

interface CopyOptions extends PostgresLimits {
  /** Receives the number of rows of a table copied so far. */
  readonly onRows: (table: string, rows: number) => void;
  /** The flag that names the PostgreSQL database. */
  readonly flag: '--database' | '--to';
}

/**
 * Copies a database file with all its issuers to an empty PostgreSQL database: everything or nothing. Blocks writes to
 * the file meanwhile.
 * @returns the number of copied rows by table
 * @throws {Refused} the file does not exist, or the PostgreSQL database is not empty or not reachable
 * @throws {SqliteInUse} another process uses the file, which may be migrated then
 */
export async function copyToPostgres(
  path: string,
  url: string,
  { onRows, flag, ...limits }: CopyOptions,
): Promise<ReadonlyMap<string, number>> {
  const issuer = await sqliteDatabase(path).storedIssuer();
  if (issuer === undefined)
    throw new Refused(`the database ${path} does not exist: choose another with --database.`);

  const address = addressOf(url);
  const { pool, close } = openPool(url, limits, () => {});
  const deadlines = deadlinesOf(limits);
  try {
    await requireEmpty(pool, address, deadlines, flag);
    await bringUpToDate(path, issuer);
    // In this order: migrations of the program's tables read the library's.
    for (const tables of [STORE_TABLES, PROGRAM_TABLES])
      await migratePostgres(new PostgresConnections(pool, deadlines), tables);
    const rows = exportSqlite({ path, hostTables: TABLES_TO_COPY });
    return await importPostgres(rows, { pool, onRows, ...deadlines });
  } finally {
    await close();
  }
}

async function requireEmpty(
  pool: Pool,
  address: PostgresAddress,
  deadlines: PostgresDeadlines,
  flag: CopyOptions['flag'],
): Promise<void> {
  await requireConnection(pool, address);
  const there = await readStoredIssuer(pool, deadlines);
  if (there === undefined) return;
  throw new Refused(
    `the database ${address.name} is not empty: it belongs to the issuer ${there}. Choose an empty database with ${flag}.`,
  );
}

/** @throws {Refused} the PostgreSQL database of `--database` is not empty or not reachable */
export async function requireEmptyPostgres(url: string, limits: PostgresLimits): Promise<void> {
  const { pool, close } = openPool(url, limits, () => {});
  try {
    await requireEmpty(pool, addressOf(url), deadlinesOf(limits), '--database');
  } finally {
    await close();
  }
}

/** For the lock, the rows, and the numbers of events. */
const CONNECTIONS = 3;

/** Milliseconds for which a copy may be in use. */
const MAX_USE_MS = 24 * 60 * 60 * 1000;

const LOCK_SQL = "SELECT pg_try_advisory_xact_lock(hashtext('grantd.backup')) AS is_alone";

/**
 * Copies a PostgreSQL database with all its issuers, as it is at one moment, to a new SQLite file, which has every part
 * that `copyToPostgres` needs. Servers go on meanwhile (ADR 107).
 * @param use works on the copy. Only one process at a time does that for one database
 * @returns `undefined` if another process does it
 * @throws {Refused} the database is empty, not reachable, or of another version
 */
export async function withCopyOfPostgres<T>(
  { url, ...limits }: PostgresLimits & { readonly url: string },
  to: string,
  onRows: CopyOptions['onRows'],
  use: () => Promise<T>,
): Promise<T | undefined> {
  const address = addressOf(url);
  const { pool, close } = openPool(url, { ...limits, connections: CONNECTIONS }, () => {});
  const deadlines = deadlinesOf(limits);
  const connections = new PostgresConnections(pool, deadlines);
  let used: T | undefined;
  try {
    await requireConnection(pool, address);
    await asDatabase(address, () => requireThisVersion(connections, address));
    await connections.withStatementTimeout(MAX_USE_MS).longTransaction(async (run) => {
      const [lock] = rowsOf<{ is_alone: boolean }>(await run([unnamed(LOCK_SQL)]));
      if (lock?.is_alone !== true) return;
      const counts = new Map<string, number>();
      await importSqlite({ path: to, migrateHost: (file) => migrateProgramTables(file, to) }, (take) =>
        exportPostgres({ pool, hostTables: TABLES_TO_COPY, ...deadlines }, (part) => {
          take(part);
          const rows = (counts.get(part.table) ?? 0) + part.rows.length;
          counts.set(part.table, rows);
          onRows(part.table, rows);
        }),
      );
      used = await use();
    });
    return used;
  } finally {
    await close();
  }
}

/** @throws {Refused} the tables are of another version, so they may have what this one does not know */
async function requireThisVersion(
  connections: PostgresConnections,
  { name }: PostgresAddress,
): Promise<void> {
  const found = [];
  for (const tables of [STORE_TABLES, PROGRAM_TABLES])
    found.push((await storedState(connections, tables)).version);
  const known = [STORE_TABLES, PROGRAM_TABLES].map(({ migrations }) => migrations.length);
  if (found.join() === known.join()) return;
  throw new Refused(
    found[0] === 0
      ? `the database ${name} is empty: choose another with --database.`
      : `the tables of ${name} (versions ${found.join(' and ')}) are not those of this version of grantd ` +
          `(${known.join(' and ')}): use the version of the servers.`,
  );
}

/**
 * Migrates a file of an earlier version.
 * @throws {Refused} another process uses the file, and could not use the new tables
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
