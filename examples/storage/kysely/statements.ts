import { type Kysely, sql } from 'kysely';
import { codeFrom, tokenFrom } from '../records.ts';
import type { Statements } from '../tokens_of_grants.ts';
import type { GrantdTables } from './tables.ts';

/** Matches no identifier. */
const NONE = sql.lit(null);

/** What the state of a token or code depends on besides its own row. */
const STANDING = [
  'grant.revoked_at as grantRevokedAt',
  'client.disabled_at as clientDisabledAt',
  'user.disabled_at as userDisabledAt',
  'user_generation as userGeneration',
  'token_generation as tokenGeneration',
] as const;

export const kyselyStatements: Statements<Kysely<GrantdTables>> = {
  atOnce: (db, work) =>
    db.isTransaction ? work(db) : db.transaction().setIsolationLevel('read committed').execute(work),

  async findToken(db, id, kind) {
    const row = await db
      .selectFrom('oauth_tokens as token')
      .innerJoin('oauth_clients as client', 'client.id', 'token.client_id')
      .leftJoin('users as user', 'user.id', 'token.user_id')
      .leftJoin('oauth_grants as grant', 'grant.id', 'token.grant_id')
      .select(['token.record', 'token.revoked_at as revokedAt', ...STANDING])
      .select(['superseded_at as supersededAt', 'successor_id as successorId'])
      .where('token.id', '=', id)
      .where('kind', '=', kind)
      .executeTakeFirst();
    return row && tokenFrom(row.record, row);
  },

  async findCode(db, id) {
    const row = await db
      .selectFrom('oauth_codes as code')
      .innerJoin('oauth_clients as client', 'client.id', 'code.client_id')
      .leftJoin('users as user', 'user.id', 'code.user_id')
      .leftJoin('oauth_grants as grant', 'grant.id', 'code.grant_id')
      .select(['code.record', 'redeemed_at as redeemedAt', ...STANDING])
      .where('code.id', '=', id)
      .executeTakeFirst();
    return row && codeFrom(row.record, row);
  },

  async lockClients(trx, ids) {
    const clients = trx
      .selectFrom('oauth_clients')
      .select('id')
      .where('id', '=', sql<string>`any(${ids})`)
      .where('disabled_at', 'is', null);
    return (await clients.orderBy('id').forShare().execute()).length;
  },

  async lockUsers(trx, ids) {
    const users = trx
      .selectFrom('users')
      .select(['id', 'token_generation'])
      .where('id', '=', sql<string>`any(${ids})`)
      .where('disabled_at', 'is', null);
    const rows = await users.orderBy('id').forShare().execute();
    return new Map(rows.map((user) => [user.id, user.token_generation]));
  },

  async holdPeople(trx, { clientId, subject }) {
    await trx.selectFrom('oauth_clients').select('id').where('id', '=', clientId).forKeyShare().execute();
    if (subject !== undefined)
      await trx.selectFrom('users').select('id').where('id', '=', subject).forKeyShare().execute();
  },

  async lockGrant(trx, { id, grantId }) {
    const table = sql.table(grantId === undefined ? 'oauth_tokens' : 'oauth_grants');
    await sql`SELECT FROM ${table} WHERE id = ${grantId ?? id} FOR UPDATE`.execute(trx);
  },

  async keepGrant(trx, id, keep_until) {
    await trx
      .insertInto('oauth_grants')
      .values({ id, keep_until })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet(({ fn, ref }) => ({
          keep_until: fn('greatest', [ref('oauth_grants.keep_until'), ref('excluded.keep_until')]),
        })),
      )
      .execute();
  },

  async insertToken(trx, { keepUntil, ...record }, userGeneration) {
    const { id, kind, clientId, subject = null, grantId = null, familyId = null, pairId = null } = record;
    const person = { user_id: subject, user_generation: userGeneration ?? null };
    const ties = { client_id: clientId, ...person, grant_id: grantId, family_id: familyId, pair_id: pairId };
    const row = { id, kind, ...ties, keep_until: new Date(keepUntil * 1000) };
    await trx
      .insertInto('oauth_tokens')
      .values({ ...row, record: JSON.stringify(record) })
      .execute();
  },

  async insertCode(trx, code, user_generation) {
    const { id, clientId: client_id, subject: user_id, grantId: grant_id } = code;
    const row = { id, client_id, user_id, user_generation, grant_id, record: JSON.stringify(code) };
    await trx.insertInto('oauth_codes').values(row).execute();
  },

  async supersedeToken(trx, id, successor_id, superseded_at) {
    await trx.updateTable('oauth_tokens').set({ superseded_at, successor_id }).where('id', '=', id).execute();
  },

  async redeemCode(trx, id, redeemed_at) {
    await trx.updateTable('oauth_codes').set({ redeemed_at }).where('id', '=', id).execute();
  },

  async revokeGrant(db, id, revoked_at) {
    const unrevoked = db.updateTable('oauth_grants').where('id', '=', id).where('revoked_at', 'is', null);
    await unrevoked.set({ revoked_at }).execute();
  },

  async revokeTokens(trx, { id, pairId, familyId, grantId }, of, revoked_at) {
    let family = trx
      .selectFrom('oauth_tokens')
      .where('grant_id', '=', grantId ?? NONE)
      .where('family_id', '=', familyId ?? NONE);
    if (of === 'current refresh token')
      family = family.where('kind', '=', 'refresh_token').where('superseded_at', 'is', null);
    await trx
      .updateTable('oauth_tokens')
      .set({ revoked_at })
      .where('revoked_at', 'is', null)
      .where((token) => {
        const isOfPair = token.or([
          token('pair_id', '=', pairId ?? NONE),
          token('pair_id', 'in', family.select('pair_id')),
        ]);
        return token.or([
          token('id', '=', id),
          token('id', 'in', family.select('id')),
          token.and([token('grant_id', '=', grantId ?? NONE), isOfPair]),
        ]);
      })
      .execute();
  },
};
