import type { DatabaseSync } from 'node:sqlite';

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
