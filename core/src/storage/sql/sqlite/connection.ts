import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/** Runs `work` as one write transaction: all of it is durable once this has returned, or none of it happened. */
export type Transaction = <T>(work: () => T) => T;

/** How long a statement waits for another process unless said otherwise. */
export const DEFAULT_BUSY_TIMEOUT_MS = 2000;

/** What each part of the store works with. */
export interface SqliteHandle {
  readonly database: DatabaseSync;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly transaction: Transaction;
}

/**
 * Opens a database file, made with mode 0600 where it is missing, so that what a write has returned from survives a
 * crash of the machine.
 * @param busyTimeoutMs how long a statement waits for another process's write
 */
export function openDatabase(path: string, busyTimeoutMs: number): DatabaseSync {
  createPrivately(path);
  const database = new DatabaseSync(path);
  try {
    switchToWal(database, busyTimeoutMs);
    database.exec(`PRAGMA busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
    database.exec('PRAGMA synchronous = FULL');
    // On macOS only this reaches past the drive's own cache; elsewhere it is remembered and changes nothing.
    database.exec('PRAGMA fullfsync = ON');
    assertDurable(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
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

/** Write transactions of a database. They take the write lock at once, so that no check is made on a stale read. */
export function transactions(database: DatabaseSync): Transaction {
  return (work) => {
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite itself rolls back after some errors, such as a full disk.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
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

/** The log and its index, which SQLite makes beside the file, take over its mode. */
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

/**
 * Where several processes do this at once, SQLite now and then answers "locked" without the wait it was told. So it
 * is told none yet, and the pauses here are all of it.
 */
function switchToWal(database: DatabaseSync, busyTimeoutMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const pauseMs = 10;
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyTimeoutMs) throw error;
      Atomics.wait(pause, 0, 0, pauseMs);
    }
  }
}

/** SQLITE_BUSY, whatever its extended code. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && Number(error.errcode) % 256 === 5;
}
