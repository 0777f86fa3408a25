import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { GrantdTables } from './tables.ts';

/**
 * Deletes expired rows: at most `limit` per table, and none that another transaction is changing.
 * @returns how many rows were deleted
 */
export async function sweepOnce(db: Kysely<GrantdTables>, limit: number, now: Date): Promise<number> {
  const remove = async (name: keyof GrantdTables, isOver: RawBuilder<unknown>): Promise<number> => {
    const table = sql.table(name);
    const { numAffectedRows = 0n } = await sql`
      DELETE FROM ${table} WHERE id = ANY (ARRAY(
        SELECT id FROM ${table} WHERE ${isOver} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`.execute(db);
    return Number(numAffectedRows);
  };
  const isUnneeded = sql`keep_until <= ${now}`;
  const isExpired = sql`expires_at <= ${now}`;
  const isEmpty = sql`
    NOT EXISTS (SELECT FROM oauth_tokens WHERE grant_id = oauth_grants.id) AND
    NOT EXISTS (SELECT FROM oauth_codes WHERE grant_id = oauth_grants.id)`;
  return (
    (await remove('oauth_tokens', isUnneeded)) +
    (await remove('oauth_codes', sql`grant_id IN (SELECT id FROM oauth_grants WHERE ${isUnneeded})`)) +
    (await remove('oauth_grants', sql`${isUnneeded} AND ${isEmpty}`)) +
    (await remove('oauth_pending', isExpired)) +
    (await remove('oauth_one_time_identifiers', isExpired))
  );
}
