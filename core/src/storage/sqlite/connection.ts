import '../../supported_node.ts';
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
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { threadId } from 'node:worker_threads';
import type { RowList } from '../columns.ts';
import { requireNotForeign } from './schema.ts';

/**
 * Not imported: before 22.5 Node has no such module, and would say so before `supported_node.ts` can name the version
 * that is needed.
 */
export const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');

/**
 * Runs `work` as one write, after those that were asked for before.
 * @returns what `work` returned, once it is durable
 * @throws what `work` threw, and nothing of it happened; or why it could not be written, or may not have been
 */
export type Transaction = <T>(work: () => T) => Promise<T>;

/** Look-ups of one turn of the event loop, together. */
export interface Reads {
  /**
   * Looks something up in this turn.
   * @returns what `look` returned
   * @throws what `look` threw, or why nothing could be read
   */
  read<T>(look: () => T): Promise<T>;
  /** While something is looked up, the number of the state of the database that it sees: a greater one after a commit. */
  readonly stateNumber: number;
}

/** How long a statement waits for another process unless said otherwise. */
export const DEFAULT_BUSY_TIMEOUT_MS = 2000;

/** What each part of the store works with. */
export interface SqliteHandle {
  readonly database: DatabaseSync;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly transaction: Transaction;
  readonly reads: Reads;
}

/**
 * Opens a database file, made with mode 0600 where it is missing, so that what a write has returned from survives a
 * crash of the machine.
 * @param busyTimeoutMs how long a statement waits for another process's write
 * @throws Error if it cannot be opened, or kept durable, or it or the log beside it belongs to something else
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
  /** How long a statement waits for another process's write, in milliseconds; 2000 unless said otherwise. */
  readonly busyTimeoutMs?: number;
}

/**
 * Opens one more connection to a file that a store has made, for tables that a host keeps in it beside the store's own;
 * what it commits is as durable. Its statements wait for the writes of others with the whole thread.
 * @throws Error where there is no such file, or it cannot be kept durable
 */
export function openSqliteConnection(path: string, options: SqliteConnectionOptions = {}): DatabaseSync {
  requireOwnLog(path);
  // Never a file of its own, which would have the mode that the process happens to give.
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
  // What a savepoint may have to bring back is a few pages; by default it is written to a file for temporary files.
  database.exec('PRAGMA temp_store = MEMORY');
  database.exec('PRAGMA synchronous = FULL');
  // On macOS only this reaches past the drive's own cache; elsewhere it is remembered and changes nothing.
  database.exec('PRAGMA fullfsync = ON');
  assertDurable(database);
  return database;
}

/**
 * Asks SQLite whether it really does what it was told: a write-ahead log, flushed at every commit.
 * @throws Error naming the setting that is not as it must be
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

const STORE_VERSION = 'PRAGMA user_version';

/**
 * A newer program migrates a file while others have it open, whose statements then say something else, or nothing.
 * @param versions statements that each read a version as `user_version`: of the store's schema, or of a host's too
 * @returns what throws once the file has another schema than at the beginning; to be asked inside a transaction
 */
export function requireSameVersion(database: DatabaseSync, versions = [STORE_VERSION]): () => void {
  const statements = versions.map((sql) => database.prepare(sql));
  const schemaNow = () => statements.map((statement) => statement.get()?.user_version).join('.');
  const opened = schemaNow();
  return () => {
    const now = schemaNow();
    if (now === opened) return;
    throw new Error(
      `the database was migrated from schema ${opened} to ${now} while it was open: the program has to be started again`,
    );
  };
}

/** A lookup whose row is a list. The statement returns lists from now on. */
export function lookUpList(
  statement: StatementSync,
): (...parameters: SQLInputValue[]) => RowList | undefined {
  statement.setReturnArrays(true);
  return (...parameters) => {
    const row: unknown = statement.get(...parameters);
    return row as RowList | undefined;
  };
}

/** Prepares a table's statements under their names. */
export function prepareAll<Name extends string>(
  database: DatabaseSync,
  statements: Readonly<Record<Name, string>>,
): Readonly<Record<Name, StatementSync>> {
  const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, database.prepare(sql)]);
  return Object.fromEntries(prepared) as Record<Name, StatementSync>;
}

/**
 * The log and its index, which SQLite makes beside the file, take over its mode. A file that is there is not opened:
 * closing it again would take away the locks of every other handle that this process has on it (POSIX `fcntl`).
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
 * Where several processes do this at once, SQLite now and then answers "locked" without the wait it was told. So it
 * is told none yet, and the pauses here are all of it.
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

/** SQLITE_BUSY, whatever its extended code. Deno gives no codes, so there its text says it (`sqlite3_errstr`). */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error) return Number(error.errcode) % 256 === 5;
  return error.message === 'database is locked';
}

/**
 * Makes a folder, and those above it, for its owner alone. Node's own `recursive` never ends below `/proc`, where the
 * parent exists and a folder in it can't be made.
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
      // Another process was quicker.
      if (!isAlreadyThere(error)) throw error;
    }
  }
}

/**
 * Runs `work` at once as one write transaction. It has the write lock from its beginning, so that no check is made
 * on a stale read; where another process writes, the whole thread waits for it.
 * @returns once all of it is durable; where this throws, nothing of it happened or its outcome is unknown
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  return committed(database, work);
}

/** Does `work` in the transaction that was begun, and commits it; as `inTransaction`. */
export function committed<T>(database: DatabaseSync, work: () => T): T {
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite itself rolls back after some errors, such as a full disk.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
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
 * SQLite takes a log for the database's own because of its name alone. If the database file was replaced under a
 * running program, the log that is left holds pages of the former file, and would be merged into the new one. So the
 * inodes of both are noted whenever a file is opened, and a log that is still the same beside another file is refused.
 * If both are new, they were copied together, or the file system has no lasting inodes: nothing is wrong then.
 * @throws Error if the log beside a database file belongs to another file
 */
export function requireOwnLog(path: string): void {
  const found = inodesOf(path);
  // A file system gives the number of a deleted log to the next one, which says nothing while it is empty.
  if (found === undefined || found.isEmpty) return;
  const noted = readNote(path);
  if (noted === undefined || noted.log !== found.log || noted.database === found.database) return;
  throw new Error(
    `${path} was replaced, and the log beside it belongs to the former file: stop every program that uses it, remove ` +
      `${logOf(path)} and ${path}-shm, and start again.`,
  );
}

/**
 * Notes which log belongs to a file that is open, so that the log exists and stays. Without a note, as on a full disk,
 * no log is refused.
 */
function noteOwnLog(path: string): void {
  const found = inodesOf(path);
  if (found === undefined) return;
  const noted = readNote(path);
  if (noted?.database === found.database && noted.log === found.log) return;
  // Renamed into place: other processes read the whole note or the one before.
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
