import type { NewToken, TokenRecord } from '@grantd/core';
import { type Kysely, sql } from 'kysely';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/** What each person's tokens copy, by the person's identifier. */
export type Generations = ReadonlyMap<string | null, number>;

/**
 * Locks the clients and people of what is to be issued; they stay as they are until the transaction ends.
 * @returns `undefined` where one of them is not there, or disabled
 */
export async function lockPeople(
  trx: Db,
  issued: readonly Pick<NewToken, 'clientId' | 'subject'>[],
): Promise<Generations | undefined> {
  const clientIds = [...new Set(issued.map(({ clientId }) => clientId))];
  const userIds = [...new Set(issued.flatMap(({ subject }) => subject ?? []))];
  const clients = await trx
    .selectFrom('oauth_clients')
    .select('id')
    .where('id', '=', sql<string>`any(${clientIds})`)
    .where('disabled_at', 'is', null)
    .orderBy('id')
    .forShare()
    .execute();
  const users = await trx
    .selectFrom('users')
    .select(['id', 'token_generation'])
    .where('id', '=', sql<string>`any(${userIds})`)
    .where('disabled_at', 'is', null)
    .orderBy('id')
    .forShare()
    .execute();
  if (clients.length < clientIds.length || users.length < userIds.length) return undefined;
  return new Map<string | null, number>(users.map((user) => [user.id, user.token_generation]));
}

/** Nobody removes them until the transaction ends: their tokens would go as well, in whatever order. */
export async function holdPeople(trx: Db, { clientId, subject }: TokenRecord): Promise<void> {
  await trx.selectFrom('oauth_clients').select('id').where('id', '=', clientId).forKeyShare().execute();
  if (subject !== undefined)
    await trx.selectFrom('users').select('id').where('id', '=', subject).forKeyShare().execute();
}

/**
 * Whoever holds the lock is alone with the grant, or with a token that has none; what is read afterwards is as the last
 * one left it.
 */
export async function lockGrant(
  trx: Db,
  { id, grantId }: Pick<TokenRecord, 'id' | 'grantId'>,
): Promise<void> {
  const table = sql.table(grantId === undefined ? 'oauth_tokens' : 'oauth_grants');
  await sql`SELECT FROM ${table} WHERE id = ${grantId ?? id} FOR UPDATE`.execute(trx);
}

/** Locks a grant likewise, and makes it where there is none. */
export async function keepGrant(trx: Db, id: string, keep_until: Date): Promise<void> {
  await trx
    .insertInto('oauth_grants')
    .values({ id, keep_until })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(({ fn, ref }) => ({
        keep_until: fn('greatest', [ref('oauth_grants.keep_until'), ref('excluded.keep_until')]),
      })),
    )
    .execute();
}

export async function insertTokens(
  trx: Db,
  tokens: readonly NewToken[],
  generations: Generations,
): Promise<void> {
  // In one order, as others may be about to keep the same ones.
  for (const { grantId, keepUntil } of tokens.toSorted(byGrant))
    if (grantId !== undefined) await keepGrant(trx, grantId, new Date(keepUntil * 1000));
  for (const { keepUntil, ...record } of tokens) {
    const { id, kind, clientId, subject = null, grantId = null, familyId = null, pairId = null } = record;
    const person = { user_id: subject, user_generation: generations.get(subject) ?? null };
    const ties = { client_id: clientId, ...person, grant_id: grantId, family_id: familyId, pair_id: pairId };
    const row = { id, kind, ...ties, keep_until: new Date(keepUntil * 1000) };
    await trx
      .insertInto('oauth_tokens')
      .values({ ...row, record: JSON.stringify(record) })
      .execute();
  }
}

function byGrant({ grantId: one = '' }: NewToken, { grantId: other = '' }: NewToken): number {
  return one < other ? -1 : Number(one > other);
}
