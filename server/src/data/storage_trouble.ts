// Says what is wrong with a database, from the error that it gave.
import { StorageFault } from '@grantd/core';

/** Each is a trouble on the overview of the console. `not_ready`: none of the others, so only the error says what it is. */
export type StorageTrouble =
  | 'storage_unreachable'
  | 'storage_slow'
  | 'storage_full'
  | 'storage_read_only'
  | 'not_ready';

/** An error can be the cause of another. Deeper ones say nothing more. */
const MAX_CAUSES = 10;

/** The trouble behind an error: that of the first error in its chain of causes that names one. */
export function storageTrouble(error: unknown): StorageTrouble {
  let each = error;
  for (let depth = 0; depth < MAX_CAUSES && each instanceof Error; depth++) {
    const trouble = troubleOf(each);
    if (trouble !== undefined) return trouble;
    each = each.cause;
  }
  return 'not_ready';
}

/** The error without the `StorageFault` around it, whose message only says that there was an error. */
export function withoutFault(error: unknown): unknown {
  return error instanceof StorageFault && error.cause !== undefined ? error.cause : error;
}

function troubleOf(error: Error): StorageTrouble | undefined {
  const { code, errcode }: { readonly code?: unknown; readonly errcode?: unknown } = error as object;
  if (typeof errcode === 'number') return BY_EXTENDED[errcode] ?? BY_RESULT[errcode % 256];
  const known = typeof code === 'string' ? (BY_CODE[code] ?? BY_CLASS[code.slice(0, 2)]) : undefined;
  // The driver’s own errors have no code.
  return known ?? (LATE.test(error.message) ? 'storage_slow' : undefined);
}

/** Primary result codes of SQLite. */
const BY_RESULT: Readonly<Record<number, StorageTrouble>> = {
  5: 'storage_slow', // SQLITE_BUSY
  6: 'storage_slow', // SQLITE_LOCKED
  8: 'storage_read_only', // SQLITE_READONLY
  13: 'storage_full', // SQLITE_FULL
  14: 'storage_unreachable', // SQLITE_CANTOPEN
};

/** Extended result codes of SQLite that mean something else than their primary code. */
const BY_EXTENDED: Readonly<Record<number, StorageTrouble>> = {
  1032: 'not_ready', // SQLITE_READONLY_DBMOVED: the file was moved or replaced
  4874: 'storage_full', // SQLITE_IOERR_SHMSIZE: no room for the index of the log
};

/** Codes of the system, and SQLSTATEs of PostgreSQL. */
const BY_CODE: Readonly<Record<string, StorageTrouble>> = {
  ...{ ENOSPC: 'storage_full', EDQUOT: 'storage_full', EROFS: 'storage_read_only' },
  ...{ ECONNREFUSED: 'storage_unreachable', ECONNRESET: 'storage_unreachable', EPIPE: 'storage_unreachable' },
  ...{ ENOTFOUND: 'storage_unreachable', EAI_AGAIN: 'storage_unreachable', ENOENT: 'storage_unreachable' },
  ...{ EHOSTUNREACH: 'storage_unreachable', ENETUNREACH: 'storage_unreachable', ETIMEDOUT: 'storage_slow' },
  '53100': 'storage_full', // disk_full
  '53300': 'storage_unreachable', // too_many_connections
  '57P01': 'storage_unreachable', // admin_shutdown
  '57P02': 'storage_unreachable', // crash_shutdown
  '57P03': 'storage_unreachable', // cannot_connect_now
  '25006': 'storage_read_only', // read_only_sql_transaction
  '55P03': 'storage_slow', // lock_not_available
  '57014': 'storage_slow', // query_canceled, by statement_timeout
};

/** Classes of SQLSTATEs. */
const BY_CLASS: Readonly<Record<string, StorageTrouble>> = {
  '08': 'storage_unreachable', // connection exceptions
};

const LATE = /timeout|within \d+ ms|in time$/;
