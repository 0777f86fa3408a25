// Exports all rows of a SQLite file.
import type { DatabaseSync } from 'node:sqlite';
import { TABLES, type TableRows } from '../statements.ts';
import { isBusy, openSqliteConnection } from './connection.ts';
import { SqliteInUse } from './files.ts';
import { SQLITE_STORE_TABLES, usableState } from './schema.ts';

const ROWS_AT_ONCE = 1000;

export interface SqliteExportOptions {
  /** A database file that a store of this version has opened, which migrates an older file. */
  readonly path: string;
  /** Tables that a host keeps in the same file. */
  readonly hostTables?: readonly string[];
  /** How long to wait for another process's write, in milliseconds. Default: 2000. */
  readonly busyTimeoutMs?: number;
}

/**
 * Yields all rows of a database file, table after table, a thousand at a time. No other process can open the file
 * until the generator has finished or returned. The file does not change.
 * @throws Error if there is no such file, if its schema is of another version, or if another process has it open
 */
export function* exportSqlite(options: SqliteExportOptions): Generator<TableRows, void, void> {
  const { path, hostTables = [] } = options;
  const database = openSqliteConnection(path, options);
  try {
    // Refused while another process has the file open, which would go on writing to it after the export.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    takeForItself(database, path);
    requireThisVersion(database, path);
    for (const table of [...TABLES, ...hostTables]) {
      let rows = [];
      for (const row of database.prepare(`SELECT * FROM "${table}"`).iterate()) {
        rows.push(Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plain(value)])));
        if (rows.length < ROWS_AT_ONCE) continue;
        yield { table, rows };
        rows = [];
      }
      yield { table, rows };
    }
  } finally {
    database.close();
  }
}

function takeForItself(database: DatabaseSync, path: string): void {
  try {
    database.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw new SqliteInUse(path);
  }
}

function requireThisVersion(database: DatabaseSync, path: string): void {
  const { version } = usableState(database, path, SQLITE_STORE_TABLES);
  const known = SQLITE_STORE_TABLES.migrations.length;
  if (version === known) return;
  if (version === 0) throw new Error(`${path} is not a grantd database`);
  throw new Error(
    version < known
      ? `${path} has the schema ${version} of an older grantd, and this one exports the schema ${known}: ` +
          'open a store on it first, which brings it up to date'
      : `${path} has the schema ${version} of a newer grantd, and this one exports the schema ${known}: use the newer one`,
  );
}

function plain(value: unknown): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a row holds what is neither text nor number');
}
