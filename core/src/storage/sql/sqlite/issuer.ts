import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Database, DEFAULT_BUSY_TIMEOUT_MS } from './connection.ts';
import { requireOwnLog } from './log_owner.ts';
import { requireNotForeign, schemaVersion } from './schema.ts';

export const ISSUER_SQL = {
  find: 'SELECT id FROM issuers WHERE issuer = ?',
  add: 'INSERT INTO issuers (issuer) VALUES (?) ON CONFLICT (issuer) DO NOTHING',
  first: 'SELECT issuer FROM issuers ORDER BY id LIMIT 1',
};

/** The number that stands for an issuer in every key; `undefined` where it has none yet. */
export function findIssuerId(database: DatabaseSync, issuer: string): number | undefined {
  const row = database.prepare(ISSUER_SQL.find).get(issuer);
  return row && Number(row.id);
}

/** Gives an issuer its number where it has none yet; inside the caller's transaction. */
export function addIssuer(database: DatabaseSync, issuer: string): number {
  database.prepare(ISSUER_SQL.add).run(issuer);
  const id = findIssuerId(database, issuer);
  if (id === undefined) throw new Error(`the issuer ${issuer} was not stored`);
  return id;
}

/**
 * The issuer for which a database file was opened first. Neither makes the file nor changes it.
 * @param busyTimeoutMs how long it waits for a process that is just making the file
 * @returns `undefined` where there is no such file, or no issuer in it yet
 * @throws Error where the file is no database, or belongs to another program or a newer one, or its log to another file
 */
export function readStoredIssuer(path: string, busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS): string | undefined {
  if (!existsSync(path)) return undefined;
  requireOwnLog(path);
  const database = new Database(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    requireNotForeign(database, path);
    if (schemaVersion(database, path) === 0) return undefined;
    const row = database.prepare(ISSUER_SQL.first).get();
    return row && String(row.issuer);
  } finally {
    database.close();
  }
}
