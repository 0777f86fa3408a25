// Works on whole SQLite files: copies, migrates and reads them without opening a store.
import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { MigrationAssumption } from '../contract.ts';
import type { MigrationDirection } from '../migrations.ts';
import {
  Database,
  DEFAULT_BUSY_TIMEOUT_MS,
  isBusy,
  openDatabase,
  openSqliteConnection,
  requireOwnLog,
} from './connection.ts';
import { inTransaction } from './queues.ts';
import { ISSUER_SQL, migrate, requireNotForeign, SQLITE_STORE_TABLES, usableState } from './schema.ts';

/**
 * Reads a file without creating, migrating or changing it.
 * @param busyTimeoutMs how long to wait for a process that is creating the file
 * @returns what `read` returned; `undefined` if there is no such file
 * @throws Error if the file is no database of a store, or its log belongs to another file
 */
export function readSqlite<T>(
  path: string,
  read: (database: DatabaseSync) => T,
  busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
): T | undefined {
  if (!existsSync(path)) return undefined;
  requireOwnLog(path);
  const database = new Database(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    requireNotForeign(database, path);
    return read(database);
  } finally {
    database.close();
  }
}

/**
 * The issuer for which a database file was opened first. Neither creates the file nor changes it.
 * @param busyTimeoutMs how long to wait for a process that is creating the file
 * @returns `undefined` if there is no such file, or no issuer in it yet
 * @throws Error if the file is no database, or belongs to another or a newer program, or its log to another file
 */
export function readStoredIssuer(path: string, busyTimeoutMs?: number): string | undefined {
  const read = (database: DatabaseSync) => {
    if (usableState(database, path, SQLITE_STORE_TABLES).version === 0) return undefined;
    const row = database.prepare(ISSUER_SQL.first).get();
    return row && String(row.issuer);
  };
  return readSqlite(path, read, busyTimeoutMs);
}

export interface SqliteCopyOptions {
  /** A database file, which other processes may read and write meanwhile. */
  readonly path: string;
  /** The new file. It is an empty file, or does not exist yet. */
  readonly to: string;
  /** Receives the numbers of copied and of all pages. */
  readonly onPages?: (copied: number, all: number) => void;
}

/** Pages per step: between two steps other threads get their turn, and progress is reported. */
const PAGES_PER_STEP = 256;

/**
 * Copies a database file as it is at one moment: every commit that had returned before the call is in the copy, and
 * none is in it half. Writers go on meanwhile. Their commits stay in the log until the copy is done. The copy is one
 * file without a log.
 * @throws Error if the file cannot be read, or the copy cannot be written
 */
export async function copySqlite({ path, to, onPages }: SqliteCopyOptions): Promise<void> {
  requireOwnLog(path);
  const { backup } = process.getBuiltinModule('node:sqlite');
  const source = openSqliteConnection(path);
  // Flushed step by step. One flush of the whole copy would delay the commits of other processes on the same disk.
  const file = openSync(to, 'a', 0o600);
  try {
    requireNotForeign(source, path);
    // Within a transaction, every step reads the same state. Otherwise each commit of another process would make
    // SQLite start from the first page again.
    source.exec('BEGIN');
    source.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
    await backup(source, to, {
      rate: PAGES_PER_STEP,
      progress({ totalPages, remainingPages }) {
        fsyncSync(file);
        onPages?.(totalPages - remainingPages, totalPages);
      },
    });
  } finally {
    source.close();
    closeSync(file);
  }
  const copy = new Database(to);
  try {
    copy.exec('PRAGMA journal_mode = DELETE');
  } finally {
    copy.close();
  }
}

export interface SqliteMigrationOptions {
  readonly path: string;
  /** Default: `up`. */
  readonly direction?: MigrationDirection;
  /** Migrates tables that a host keeps in the same file, in the same transaction. */
  readonly migrateHost?: (database: DatabaseSync) => void;
  /**
   * Migrates although other processes have the file open. Those that cannot use the new tables reject every request from
   * then on.
   */
  readonly whileInUse?: boolean;
  /** How long to wait for other processes, in milliseconds. Default: 2000. */
  readonly busyTimeoutMs?: number;
}

/**
 * Brings a file of another version up to date in one transaction.
 * @returns what was assumed about existing rows
 * @throws {SqliteInUse} another process has the file open
 * @throws Error if the file belongs to a newer program; nothing is changed then
 */
export function migrateSqlite({
  path,
  direction = 'up',
  migrateHost,
  whileInUse = false,
  busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
}: SqliteMigrationOptions): readonly MigrationAssumption[] {
  const database = openDatabase(path, busyTimeoutMs);
  try {
    if (!whileInUse) database.exec('PRAGMA locking_mode = EXCLUSIVE');
    return inTransaction(database, () => {
      const assumptions = migrate(database, path, direction);
      migrateHost?.(database);
      return assumptions;
    });
  } catch (error) {
    throw isBusy(error) ? new SqliteInUse(path, { cause: error }) : error;
  } finally {
    database.close();
  }
}

/** Another process has a file open that should be used alone. */
export class SqliteInUse extends Error {
  override readonly name = 'SqliteInUse';

  constructor(path: string, options?: ErrorOptions) {
    super(`${path} is in use: stop what serves from it first`, options);
  }
}

const SKIP_SQL = `
  UPDATE issuers SET last_event_sequence = :skipped + max(last_event_sequence,
    coalesce((SELECT max(sequence) FROM events WHERE issuer_id = issuers.id), 0))`;

/**
 * Skips numbers of events in a file that was restored from a copy. Events that came after the copy have used them, and
 * readers of events would miss new events with the same numbers.
 * @param skipped more than the number of events since the copy
 */
export function skipEventNumbers(path: string, skipped: number): void {
  const database = openSqliteConnection(path);
  try {
    inTransaction(database, () => database.prepare(SKIP_SQL).run({ skipped }));
  } finally {
    database.close();
  }
}

/**
 * Reads the times of the newest event and token of `:issuer`: `at_ms`, and as `settled_ms` the newest one that is more
 * than `gapMs` milliseconds older. Both are inserted in the order of their times, unless a clock was set.
 */
export function newestTimesSql(gapMs: number): string {
  return `
  WITH newest AS (
    SELECT i.id, max(coalesce((SELECT at_ms FROM events WHERE issuer_id = i.id ORDER BY sequence DESC LIMIT 1), t.at_ms),
      coalesce(t.at_ms, 0)) AS at_ms
    FROM issuers i LEFT JOIN (SELECT issued_at_ms AS at_ms FROM tokens ORDER BY rowid DESC LIMIT 1) t ON 1
    WHERE i.issuer = :issuer)
  SELECT at_ms, (SELECT max(settled_ms) FROM (
      SELECT (SELECT at_ms FROM events WHERE issuer_id = newest.id AND at_ms < newest.at_ms - ${gapMs}
        ORDER BY sequence DESC LIMIT 1) AS settled_ms
      UNION ALL
      SELECT issued_at_ms FROM (SELECT issued_at_ms FROM tokens ORDER BY rowid DESC LIMIT 1000)
      WHERE issued_at_ms < newest.at_ms - ${gapMs})) AS settled_ms
  FROM newest`;
}

const LAST_EVENT = 'SELECT coalesce(max(sequence), 0) AS last FROM events WHERE issuer_id = ?';

/** The version since which numbers of events are kept beside the events. */
const KEPT_NUMBERS_SINCE = 4;

/** The first issuer of a file of any version, and the number of its last event. @returns `undefined` without an issuer */
export function firstIssuerIn(
  database: DatabaseSync,
): { readonly issuer: string; readonly lastEvent: number } | undefined {
  const row = database.prepare('SELECT id, issuer FROM issuers ORDER BY id LIMIT 1').get();
  if (row === undefined) return undefined;
  const hasNumber = SQLITE_STORE_TABLES.stateIn(database).version >= KEPT_NUMBERS_SINCE;
  const numbers = [
    LAST_EVENT,
    ...(hasNumber ? ['SELECT last_event_sequence AS last FROM issuers WHERE id = ?'] : []),
  ].map((sql) => Number(database.prepare(sql).get(row.id ?? null)?.last ?? 0));
  return { issuer: String(row.issuer), lastEvent: Math.max(...numbers) };
}
