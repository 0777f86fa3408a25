import type { NewToken, TokenRecord } from '@grantd/core';
import type { Db } from './storage.ts';

/** The generation that tokens copy, by user. */
export type Generations = ReadonlyMap<string | null, number>;

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
  const clients = await tx.$queryRaw<readonly unknown[]>`
    SELECT id FROM oauth_clients WHERE id = ANY (${clientIds}::text[]) AND disabled_at IS NULL
    ORDER BY id FOR SHARE`;
  const users = await tx.$queryRaw<readonly { readonly id: string; readonly token_generation: number }[]>`
    SELECT id, token_generation FROM users WHERE id = ANY (${userIds}::text[]) AND disabled_at IS NULL
    ORDER BY id FOR SHARE`;
  if (clients.length < clientIds.length || users.length < userIds.length) return undefined;
  return new Map<string | null, number>(users.map((user) => [user.id, user.token_generation]));
}

/** Prevents removal until the transaction ends, since that would remove tokens in any order. */
export async function holdPeople(tx: Db, { clientId, subject }: TokenRecord): Promise<void> {
  await tx.$queryRaw`SELECT FROM oauth_clients WHERE id = ${clientId} FOR KEY SHARE`;
  if (subject !== undefined) await tx.$queryRaw`SELECT FROM users WHERE id = ${subject} FOR KEY SHARE`;
}

/**
 * Locks a grant, or a token without one, against other transactions. Later reads see what the previous holder of the
 * lock committed.
 */
export async function lockGrant(tx: Db, { id, grantId }: Pick<TokenRecord, 'id' | 'grantId'>): Promise<void> {
  if (grantId === undefined) await tx.$queryRaw`SELECT FROM oauth_tokens WHERE id = ${id} FOR UPDATE`;
  else await tx.$queryRaw`SELECT FROM oauth_grants WHERE id = ${grantId} FOR UPDATE`;
}

/** Locks a grant in the same way, and creates it if it is missing. */
export async function keepGrant(tx: Db, id: string, keepUntil: Date): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO oauth_grants AS stored (id, keep_until) VALUES (${id}, ${keepUntil})
    ON CONFLICT (id) DO UPDATE SET keep_until = greatest(stored.keep_until, excluded.keep_until)`;
}

export async function insertTokens(
  tx: Db,
  tokens: readonly NewToken[],
  generations: Generations,
): Promise<void> {
  // In a fixed order, since other transactions may store the same ones.
  for (const { grantId, keepUntil } of tokens.toSorted(byGrant))
    if (grantId !== undefined) await keepGrant(tx, grantId, new Date(keepUntil * 1000));
  for (const { keepUntil, ...record } of tokens) {
    const { id, kind, clientId, subject = null, grantId = null, familyId = null, pairId = null } = record;
    const person = { userId: subject, userGeneration: generations.get(subject) ?? null };
    const row = { id, kind, clientId, ...person, grantId, familyId, pairId };
    await tx.token.create({
      data: { ...row, keepUntil: new Date(keepUntil * 1000), record: JSON.stringify(record) },
    });
  }
}

function byGrant({ grantId: one = '' }: NewToken, { grantId: other = '' }: NewToken): number {
  return one < other ? -1 : Number(one > other);
}
