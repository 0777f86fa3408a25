import { and, eq, inArray, lte, notExists, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { codes, grants, oneTimeIdentifiers, pending, tokens } from './schema.ts';
import type { Db } from './statements.ts';

/**
 * Deletes expired rows: at most `limit` per table, and none that another transaction is changing.
 * @returns how many rows were deleted
 */
export async function sweepOnce(db: Db, limit: number, now: Date): Promise<number> {
  const remove = async (from: PgTable & { readonly id: PgColumn }, isOver?: SQL): Promise<number> => {
    const doomed = db.select({ id: from.id }).from(from).where(isOver).limit(limit);
    // An array is evaluated once instead of once per row.
    const isDoomed = sql`${from.id} = any(array${doomed.for('update', { skipLocked: true })})`;
    return (await db.delete(from).where(isDoomed).returning({ id: from.id })).length;
  };
  const isOverGrant = lte(grants.keepUntil, now);
  const overGrants = db.select({ id: grants.id }).from(grants).where(isOverGrant);
  const hasNoTokens = notExists(
    db.select({ id: tokens.id }).from(tokens).where(eq(tokens.grantId, grants.id)),
  );
  const hasNoCodes = notExists(db.select({ id: codes.id }).from(codes).where(eq(codes.grantId, grants.id)));
  return (
    (await remove(tokens, lte(tokens.keepUntil, now))) +
    (await remove(codes, inArray(codes.grantId, overGrants))) +
    (await remove(grants, and(isOverGrant, hasNoTokens, hasNoCodes))) +
    (await remove(pending, lte(pending.expiresAt, now))) +
    (await remove(oneTimeIdentifiers, lte(oneTimeIdentifiers.expiresAt, now)))
  );
}
