import { Prisma } from './generated/client.ts';
import type { Db } from './statements.ts';

/**
 * Deletes expired rows: at most `limit` per table, and none that another transaction is changing.
 * @returns how many rows were deleted
 */
export async function sweepOnce(db: Db, limit: number, now: Date): Promise<number> {
  const remove = (name: string, isOver: Prisma.Sql): Promise<number> => {
    const table = Prisma.raw(name);
    return db.$executeRaw`
      DELETE FROM ${table} WHERE id = ANY (ARRAY(
        SELECT id FROM ${table} WHERE ${isOver} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  };
  const isUnneeded = Prisma.sql`keep_until <= ${now}`;
  const isExpired = Prisma.sql`expires_at <= ${now}`;
  const isEmpty = Prisma.sql`
    NOT EXISTS (SELECT FROM oauth_tokens WHERE grant_id = oauth_grants.id) AND
    NOT EXISTS (SELECT FROM oauth_codes WHERE grant_id = oauth_grants.id)`;
  return (
    (await remove('oauth_tokens', isUnneeded)) +
    (await remove('oauth_codes', Prisma.sql`grant_id IN (SELECT id FROM oauth_grants WHERE ${isUnneeded})`)) +
    (await remove('oauth_grants', Prisma.sql`${isUnneeded} AND ${isEmpty}`)) +
    (await remove('oauth_pending', isExpired)) +
    (await remove('oauth_one_time_identifiers', isExpired))
  );
}
