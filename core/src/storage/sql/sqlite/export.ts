import { DatabaseSync } from 'node:sqlite';
import { TABLES, type TableRows } from '../table_rows.ts';
import { DEFAULT_BUSY_TIMEOUT_MS } from './connection.ts';

const ROWS_AT_ONCE = 1000;

export interface SqliteExportOptions {
  /** A database file that a store of this version has opened before. */
  readonly path: string;
  /** Tables beside the store's own, which its host keeps in the same file. */
  readonly hostTables?: readonly string[];
  /** How long to wait for another process's write, in milliseconds; 2000 unless said otherwise. */
  readonly busyTimeoutMs?: number;
}

/**
 * All rows of a database file, table after table, a thousand at a time. Nobody can write to the file until the last
 * one was taken, or the generator was told to return; the file stays as it is.
 * @throws Error where there is no such file, or another process is writing to it all the time
 */
export function* exportSqlite(options: SqliteExportOptions): Generator<TableRows, void, void> {
  const { path, hostTables = [], busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS } = options;
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    database.exec('BEGIN IMMEDIATE');
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

function plain(value: unknown): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a row holds what is neither text nor number');
}
