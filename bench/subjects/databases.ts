import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';

/** Where a peer keeps its records. */
export const STORAGES = ['memory', 'SQLite', 'PostgreSQL'] as const;
export type StorageName = (typeof STORAGES)[number];

/** The pool of every server on PostgreSQL. It is grantd's default. */
export const CONNECTIONS_TO_POSTGRES = 10;

/** As durable as grantd's: each commit is on disk when it returns. */
export function openSqlite(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  return database;
}

/** @param url without the password, which is in PGPASSWORD */
export function openPostgres(url: string): Pool {
  return new Pool({ connectionString: url, max: CONNECTIONS_TO_POSTGRES, keepAlive: true });
}

/**
 * The storage that a command line names.
 * @param place `memory`, `sqlite:PATH` or the URL of PostgreSQL
 */
export function storageAt<T>(
  place: string,
  storages: {
    readonly memory: () => T;
    readonly sqlite: (database: DatabaseSync) => T;
    readonly postgres: (pool: Pool) => T;
  },
): T {
  if (place === 'memory') return storages.memory();
  const [, path] = /^sqlite:(.+)$/.exec(place) ?? [];
  return path === undefined ? storages.postgres(openPostgres(place)) : storages.sqlite(openSqlite(path));
}

/** Runs all inserts in one transaction, and moves them from the log into the file. */
export function fillSqlite(database: DatabaseSync, insert: () => void): void {
  database.exec('BEGIN');
  insert();
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
}

const ROWS_AT_ONCE = 2000;

/** Inserts rows, whose columns are the parameters of `sql`, as arrays for `unnest`. */
export async function fillPostgres(
  pool: Pool,
  sql: string,
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE);
    const columns = (some[0] ?? []).map((_, column) => some.map((row) => row[column]));
    await pool.query(sql, columns);
  }
}
