import type { NewToken, TokenRecord } from '@grantd/core';
import { type Kysely, sql } from 'kysely';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/** The generation that tokens copy, by user. */
export type Generations = ReadonlyMap<string | null, number>;

/**
 * Locks the clients and users of new tokens, so that they do not change until the transaction ends.
 * @returns `undefined` if one of them is missing or disabled
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

/** Prevents removal until the transaction ends, since that would remove tokens in any order. */
export async function holdPeople(trx: Db, { clientId, subject }: TokenRecord): Promise<void> {
  await trx.selectFrom('oauth_clients').select('id').where('id', '=', clientId).forKeyShare().execute();
  if (subject !== undefined)
    await trx.selectFrom('users').select('id').where('id', '=', subject).forKeyShare().execute();
}

/**
 * Locks a grant, or a token without one, against other transactions. Later reads see what the previous holder of the
 * lock committed.
 */
export async function lockGrant(
  trx: Db,
  { id, grantId }: Pick<TokenRecord, 'id' | 'grantId'>,
): Promise<void> {
  const table = sql.table(grantId === undefined ? 'oauth_tokens' : 'oauth_grants');
  await sql`SELECT FROM ${table} WHERE id = ${grantId ?? id} FOR UPDATE`.execute(trx);
}

/** Locks a grant in the same way, and creates it if it is missing. */
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
  // In a fixed order, since other transactions may store the same ones.
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
