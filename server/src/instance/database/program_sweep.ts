import type { ProgramTables } from './program_tables.ts';

/** Each statement finds its oldest rows by an index. A session that was ended goes in the course of its end. */
const SQL = [
  `
  DELETE FROM grantd.sessions WHERE issuer = $1 AND expires_at_ms <= $2 AND ended_at_ms IS NULL AND id IN (
    SELECT id FROM grantd.sessions WHERE issuer = $1 AND expires_at_ms <= $2 AND ended_at_ms IS NULL
    ORDER BY expires_at_ms LIMIT $3)
  RETURNING id`,
  `
  DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND ends_at_ms <= $2 AND key_digest IN (
    SELECT key_digest FROM grantd.sign_in_attempts WHERE issuer = $1 AND ends_at_ms <= $2
    ORDER BY ends_at_ms LIMIT $3)
  RETURNING key_digest`,
];

/**
 * Deletes rows of the program's tables whose time is over.
 * @param limit rows of each kind at most
 * @returns how many rows were deleted
 */
export async function sweepProgram(
  tables: ProgramTables,
  issuer: string,
  nowMs: number,
  limit: number,
): Promise<number> {
  const swept = await tables.write(...SQL.map((sql) => [sql, issuer, nowMs, limit] as const));
  return swept.reduce((sum, rows) => sum + rows.length, 0);
}
