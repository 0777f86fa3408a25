// Opens SQLite files durably.
import '../../platform/supported_node.ts';
import {
  type BigIntStats,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { threadId } from 'node:worker_threads';
import type { EventOrigin } from '../../protocol/event_records.ts';
import { requireNotForeign } from './schema.ts';

/**
 * Not imported: Node before 22.5 lacks the module and would fail before `supported_node.ts` can name the required
 * version.
 */
export const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');

/**
 * Runs `work` as one write, after all earlier ones. It can be undone and run again, so it has no effect outside the
 * database.
 * @returns what `work` returned, once it is durable
 * @throws {StorageFault} what `work` threw, and nothing has changed; or why the write failed or may have failed
 */
export type Transaction = <T>(work: () => T) => Promise<T>;

/** Runs `work` as a `Transaction`. It receives the origin of the change, if the store is audited. */
export type TransactionOfOrigin = <T>(
  work: (origin: EventOrigin | undefined, checked?: unknown) => T,
) => Promise<T>;

/** Runs the lookups of one turn of the event loop together. */
export interface Reads {
  /**
   * Runs a lookup in this turn.
   * @returns what `look` returned
   * @throws {StorageFault} what `look` threw, or why nothing could be read
   */
  read<T>(look: () => T): Promise<T>;
  /** The number of the state that a lookup sees. It increases after a commit. */
  readonly stateNumber: number;
}

/** What finds a record inside of a lookup. */
export interface Looks<T> {
  look(id: string): T | undefined;
}

/** How long a statement waits for another process. */
export const DEFAULT_BUSY_TIMEOUT_MS = 2000;

/** What each part of the store needs. */
export interface SqliteHandle {
  readonly database: DatabaseSync;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly transaction: TransactionOfOrigin;
  readonly reads: Reads;
  /** The number of the current transaction, so that nothing is read twice in it. */
  readonly transactions?: { readonly commits: number };
  /** Whether each issuance is recorded. */
  readonly recordsIssuance: boolean;
}

/**
 * Opens a database file, and creates it with mode 0600 if it is missing. Writes that have returned survive a crash of
 * the machine.
 * @param busyTimeoutMs how long a statement waits for another process's write
 * @throws Error if the file cannot be opened or kept durable, or if it or its log belongs to something else
 */
export function openDatabase(path: string, busyTimeoutMs: number): DatabaseSync {
  createPrivately(path);
  requireOwnLog(path);
  const database = new Database(path);
  try {
    switchToWal(database, path, busyTimeoutMs);
    database.exec(`PRAGMA busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
    prepared(database);
    // SQLite opens the log with the first statement that reads.
    database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
    noteOwnLog(path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export interface SqliteConnectionOptions {
  /** Milliseconds for which a statement waits for another process. Default: 2000. */
  readonly busyTimeoutMs?: number;
}

/**
 * Opens another connection to a store's file, for tables of a host. Its commits are as durable as the store's. Its
 * statements block the thread while they wait for other writes.
 * @throws Error if there is no such file, or it cannot be kept durable
 */
export function openSqliteConnection(path: string, options: SqliteConnectionOptions = {}): DatabaseSync {
  requireOwnLog(path);
  // Never creates a file, which would get the process's default mode.
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'rw');
  const database = new Database(url, { timeout: options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS });
  try {
    return prepared(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Settings are each connection's own. */
function prepared(database: DatabaseSync): DatabaseSync {
  // The data that a savepoint may restore is a few pages; by default SQLite writes it to a temporary file.
  database.exec('PRAGMA temp_store = MEMORY');
  database.exec('PRAGMA synchronous = FULL');
  // On macOS, only this setting flushes the drive's own cache. Elsewhere it has no effect.
  database.exec('PRAGMA fullfsync = ON');
  assertDurable(database);
  return database;
}

/**
 * Checks that SQLite uses a write-ahead log that it flushes at every commit.
 * @throws Error names the wrong setting
 */
export function assertDurable(database: DatabaseSync): void {
  const journalMode = database.prepare('PRAGMA journal_mode').get()?.journal_mode;
  if (journalMode !== 'wal') {
    throw new Error(
      `SQLite keeps its journal as "${journalMode}" instead of "wal": the file system must allow it`,
    );
  }
  const synchronous = database.prepare('PRAGMA synchronous').get()?.synchronous;
  if (synchronous !== 2) {
    throw new Error(
      `SQLite runs with synchronous=${synchronous} instead of 2 (FULL): a commit could be lost`,
    );
  }
}

/**
 * SQLite creates the log and its index next to the file, with the same mode. An existing file is not opened: closing
 * it would release the locks of every other handle of this process on it (POSIX `fcntl`).
 */
function createPrivately(path: string): void {
  makeFolder(dirname(path));
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isAlreadyThere(error)) throw error;
  }
}

function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/**
 * If several processes do this at once, SQLite sometimes reports "locked" without waiting. No busy timeout is set
 * yet, so this loop waits instead.
 */
function switchToWal(database: DatabaseSync, path: string, busyTimeoutMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const pauseMs = 10;
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      requireNotForeign(database, path);
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyTimeoutMs) throw error;
      Atomics.wait(pause, 0, 0, pauseMs);
    }
  }
}

/** SQLITE_BUSY, with any extended code. Deno gives no codes, so there its text says it (`sqlite3_errstr`). */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return Number(error.errcode) % 256 === 5;
  return error.message === 'database is locked';
}

/**
 * Makes a folder and its parents, for its owner alone. Node's own `recursive` never ends below `/proc`.
 * @throws Error with the system's code
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder) && folder !== dirname(folder); folder = dirname(folder))
    missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process was faster.
      if (!isAlreadyThere(error)) throw error;
    }
  }
}

/** The inodes of a database file and of its write-ahead log. */
interface Inodes {
  readonly database: string;
  readonly log: string;
}

const logOf = (path: string) => `${path}-wal`;

/** Keeps the inodes of the file and the log that belong together. */
const noteOf = (path: string) => `${path}-inodes`;

/**
 * SQLite finds a database's log by its name alone. If the database file was replaced under a running program, the
 * remaining log holds pages of the old file and would be merged into the new one. The inodes of both are noted
 * when a file is opened. A log that is still the same next to another file is refused. If both are new, they were
 * copied together, or the file system has no lasting inodes, and nothing is wrong (ADR 53).
 * @throws Error if the log next to a database file belongs to another file
 */
export function requireOwnLog(path: string): void {
  const found = inodesOf(path);
  // A file system reuses the inode of a deleted log, which proves nothing while the new log is empty.
  if (found === undefined || found.isEmpty) return;
  const noted = readNote(path);
  if (noted === undefined || noted.log !== found.log || noted.database === found.database) return;
  throw new Error(
    `${path} was replaced, and the log beside it belongs to the previous file: stop every program that uses it, remove ` +
      `${logOf(path)} and ${path}-shm, and start again.`,
  );
}

/** Notes which log belongs to an open file. Without a note, as on a full disk, no log is refused. */
function noteOwnLog(path: string): void {
  const found = inodesOf(path);
  if (found === undefined) return;
  const noted = readNote(path);
  if (noted?.database === found.database && noted.log === found.log) return;
  // Renamed into place, so that other processes read the whole note or the one before.
  const draft = `${noteOf(path)}.${process.pid}.${threadId}`;
  try {
    writeFileSync(draft, `${found.database} ${found.log}\n`, { mode: 0o600 });
    renameSync(draft, noteOf(path));
  } catch {
    rmSync(draft, { force: true });
  }
}

/** @returns `undefined` unless there are both files */
function inodesOf(path: string): (Inodes & { readonly isEmpty: boolean }) | undefined {
  const [database, log] = [path, logOf(path)].map(statusOf);
  if (database === undefined || log === undefined) return undefined;
  return { database: `${database.ino}`, log: `${log.ino}`, isEmpty: log.size === 0n };
}

function statusOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function readNote(path: string): Inodes | undefined {
  try {
    const [, database, log] = /^(\d+) (\d+)\n$/.exec(readFileSync(noteOf(path), 'utf8')) ?? [];
    return database === undefined || log === undefined ? undefined : { database, log };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
