import { type BigIntStats, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

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
export function noteOwnLog(path: string): void {
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
