import type { NewToken, TokenRecord } from '@grantd/core';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { clients, grants, tokens, users } from './schema.ts';
import type { Db } from './storage.ts';

/** The generation that tokens copy, by user. */
export type Generations = ReadonlyMap<string | undefined, number>;

/**
 * Locks the clients and users of new tokens, so that they do not change until the transaction ends.
 * @returns `undefined` if one of them is missing or disabled
 */
export async function lockPeople(
  tx: Db,
  issued: readonly Pick<NewToken, 'clientId' | 'subject'>[],
): Promise<Generations | undefined> {
  const clientIds = [...new Set(issued.map(({ clientId }) => clientId))];
  const userIds = [...new Set(issued.flatMap(({ subject }) => subject ?? []))];
  const enabledClients = await tx
    .select({ id: clients.id })
    .from(clients)
    .where(and(inArray(clients.id, clientIds), isNull(clients.disabledAt)))
    .orderBy(clients.id)
    .for('share');
  const enabledUsers = await tx
    .select({ id: users.id, generation: users.tokenGeneration })
    .from(users)
    .where(and(inArray(users.id, userIds), isNull(users.disabledAt)))
    .orderBy(users.id)
    .for('share');
  if (enabledClients.length < clientIds.length || enabledUsers.length < userIds.length) return undefined;
  return new Map<string | undefined, number>(enabledUsers.map(({ id, generation }) => [id, generation]));
}

/** Prevents removal until the transaction ends, since that would remove tokens in any order. */
export async function holdPeople(tx: Db, { clientId, subject }: TokenRecord): Promise<void> {
  await tx.select({ id: clients.id }).from(clients).where(eq(clients.id, clientId)).for('key share');
  if (subject !== undefined)
    await tx.select({ id: users.id }).from(users).where(eq(users.id, subject)).for('key share');
}

/**
 * Locks a grant, or a token without one, against other transactions. Later reads see what the previous holder of the
 * lock committed.
 */
export async function lockGrant(tx: Db, { id, grantId }: Pick<TokenRecord, 'id' | 'grantId'>): Promise<void> {
  if (grantId === undefined)
    await tx.select({ id: tokens.id }).from(tokens).where(eq(tokens.id, id)).for('update');
  else await tx.select({ id: grants.id }).from(grants).where(eq(grants.id, grantId)).for('update');
}

/** Locks a grant in the same way, and creates it if it is missing. */
export async function keepGrant(tx: Db, id: string, keepUntil: Date): Promise<void> {
  const later = sql`greatest(${grants.keepUntil}, excluded.keep_until)`;
  await tx
    .insert(grants)
    .values({ id, keepUntil })
    .onConflictDoUpdate({ target: grants.id, set: { keepUntil: later } });
}

export async function insertTokens(
  tx: Db,
  issued: readonly NewToken[],
  generations: Generations,
): Promise<void> {
  // In a fixed order, since other transactions may store the same ones.
  for (const { grantId, keepUntil } of issued.toSorted(byGrant))
    if (grantId !== undefined) await keepGrant(tx, grantId, new Date(keepUntil * 1000));
  for (const { keepUntil: seconds, ...record } of issued) {
    const { id, kind, clientId, subject: userId, grantId, familyId, pairId } = record;
    const userGeneration = generations.get(userId);
    const ties = { clientId, userId, userGeneration, grantId, familyId, pairId };
    await tx.insert(tokens).values({ id, kind, ...ties, keepUntil: new Date(seconds * 1000), record });
  }
}

function byGrant({ grantId: one = '' }: NewToken, { grantId: other = '' }: NewToken): number {
  return one < other ? -1 : Number(one > other);
}
