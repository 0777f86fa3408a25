import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '@grantd/core/sqlite';
import { Refused } from '../refused.ts';
import { openSqliteTables } from './sqlite_tables.ts';

/** @throws {Refused} the file was copied, and another database has taken its place */
export function requireNotCopied(database: DatabaseSync, path: string): void {
  const row = database.prepare('SELECT address, copied_at_ms FROM copied_to').get();
  if (row === undefined) return;
  throw new Refused(
    `everything in ${path} was copied to ${row.address} on ${new Date(Number(row.copied_at_ms)).toISOString()}: ` +
      `use that database (--database). What changed there since is not in this file; to use it all the same, run ` +
      `grantd copy --undo --database sqlite:${path}.`,
  );
}

/** @param address of the database that took its place, without a password */
export function markCopied(path: string, address: string, nowMs: number): void {
  withTables(path, (database) =>
    database.prepare('INSERT INTO copied_to (address, copied_at_ms) VALUES (?, ?)').run(address, nowMs),
  );
}

/** @returns whether the file was marked */
export function unmarkCopied(path: string): boolean {
  return withTables(path, (database) => database.prepare('DELETE FROM copied_to').run().changes) !== 0;
}

function withTables<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = openSqliteTables(path);
  try {
    return inTransaction(database, () => work(database));
  } finally {
    database.close();
  }
}
