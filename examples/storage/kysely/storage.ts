import type {
  AdministrableStorage,
  AuthorizationCodeRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  Storage,
  TokenRecord,
} from '@grantd/core';
import { type Kysely, sql } from 'kysely';
import { holdPeople, insertTokens, keepGrant, lockGrant, lockPeople } from './issuing.ts';
import { kyselyKeys } from './keys.ts';
import { findCode, findToken } from './look_ups.ts';
import { sweepOnce } from './sweep.ts';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/** Matches no identifier. */
const NONE = sql.lit(null);

/**
 * grantd's storage in the host's PostgreSQL, through the host's Kysely. With a `Transaction` everything happens within
 * it. A change of a grant locks its row before reading, so changes happen one after another. Locks are taken in one
 * order: clients, users, grants, their tokens and codes.
 * @param clock milliseconds
 */
export function kyselyStorage(
  db: Db,
  clock: () => number = Date.now,
): Required<Omit<Storage, 'getPrincipalState'>> & Pick<AdministrableStorage, 'sweep'> {
  const atOnce = <T>(work: (trx: Db) => Promise<T>): Promise<T> =>
    db.isTransaction ? work(db) : db.transaction().setIsolationLevel('read committed').execute(work);
  const now = () => new Date(clock());

  /** Whether new tokens may depend on it. Locks its grant. */
  const isAlive = (record: TokenRecord | AuthorizationCodeRecord): boolean =>
    record.revokedAtMs === undefined &&
    record.expiresAt * 1000 > clock() &&
    Object.values(record.standing ?? {}).every(
      ({ disabledAtMs, copied, current }) => disabledAtMs === undefined && copied >= current,
    );

  const issueUpon = (
    record: TokenRecord,
    tokens: readonly NewToken[],
    successor?: NewToken,
  ): Promise<IssueOutcome | 'superseded'> =>
    atOnce(async (trx) => {
      const generations = await lockPeople(trx, tokens);
      await lockGrant(trx, record);
      const stored = await findToken(trx, record.id, 'refresh_token');
      if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      await insertTokens(trx, tokens, generations);
      if (successor !== undefined) {
        const superseded = { superseded_at: now(), successor_id: successor.id };
        await trx.updateTable('oauth_tokens').set(superseded).where('id', '=', record.id).execute();
      }
      return 'issued';
    });

  const revokeGrant = async (id: string): Promise<void> => {
    const unrevoked = db.updateTable('oauth_grants').where('id', '=', id).where('revoked_at', 'is', null);
    await unrevoked.set({ revoked_at: now() }).execute();
  };

  /** Ends a token and these tokens of its family, each with its pair. */
  const revokeTokens = (record: TokenRecord, of: 'whole family' | 'current refresh token'): Promise<void> =>
    atOnce(async (trx) => {
      const { id, pairId, familyId, grantId } = record;
      await holdPeople(trx, record);
      await lockGrant(trx, record);
      let family = trx
        .selectFrom('oauth_tokens')
        .where('grant_id', '=', grantId ?? NONE)
        .where('family_id', '=', familyId ?? NONE);
      if (of === 'current refresh token')
        family = family.where('kind', '=', 'refresh_token').where('superseded_at', 'is', null);
      await trx
        .updateTable('oauth_tokens')
        .set({ revoked_at: now() })
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
    });

  return {
    clients: {
      async get(id) {
        const row = await db.selectFrom('oauth_clients').selectAll().where('id', '=', id).executeTakeFirst();
        return row && { ...row.record, ...(row.disabled_at && { disabledAtMs: row.disabled_at.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        const enabled = db.selectFrom('oauth_clients').select('id').where('disabled_at', 'is', null);
        return (await enabled.where('origins', '@>', [[origin]]).executeTakeFirst()) !== undefined;
      },
    },

    tokens: {
      getByAccessToken: (id) => findToken(db, id, 'access_token'),
      getByRefreshToken: (id) => findToken(db, id, 'refresh_token'),
      async isRefreshTokenRevoked({ id }) {
        const found = await findToken(db, id, 'refresh_token');
        return found === undefined || found.revokedAtMs !== undefined;
      },
      issue: (tokens) =>
        atOnce(async (trx) => {
          const generations = await lockPeople(trx, tokens);
          if (generations === undefined) return 'refused';
          await insertTokens(trx, tokens, generations);
          return 'issued';
        }),
      rotate: (record, successor, tokens) => issueUpon(record, tokens, successor),
      issueBeside: (record, tokens) => issueUpon(record, tokens),
      revoke(record) {
        if (record.kind === 'access_token') return revokeTokens(record, 'current refresh token');
        return record.grantId === undefined
          ? revokeTokens(record, 'whole family')
          : revokeGrant(record.grantId);
      },
      revokeFamily: (record) => revokeTokens(record, 'whole family'),
    },

    authorizationCodes: {
      get: (id) => findCode(db, id),
      issue: (code) =>
        atOnce(async (trx) => {
          const { id, clientId: client_id, subject: user_id, grantId: grant_id, expiresAt } = code;
          const generations = await lockPeople(trx, [code]);
          if (generations === undefined) return 'refused';
          await keepGrant(trx, grant_id, new Date(expiresAt * 1000));
          const ties = { client_id, user_id, user_generation: generations.get(user_id) ?? 0, grant_id };
          const row = { id, ...ties, record: JSON.stringify(code) };
          await trx.insertInto('oauth_codes').values(row).execute();
          return 'issued';
        }),
      redeem: (code, tokens) =>
        atOnce(async (trx) => {
          const generations = await lockPeople(trx, tokens);
          await lockGrant(trx, code);
          const stored = await findCode(trx, code.id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
          await insertTokens(trx, tokens, generations);
          const redeemed = trx.updateTable('oauth_codes').set({ redeemed_at: now() });
          await redeemed.where('id', '=', code.id).execute();
          return 'issued';
        }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: kyselyKeys(db, atOnce, now),

    oneTimeIdentifiers: {
      async take(id, expiresAt) {
        const row = { id, expires_at: new Date(expiresAt * 1000) };
        const taken = db.insertInto('oauth_one_time_identifiers').values(row).returning('id');
        const renewed = taken.onConflict((conflict) =>
          conflict.column('id').doUpdateSet(row).where('oauth_one_time_identifiers.expires_at', '<=', now()),
        );
        return (await renewed.executeTakeFirst()) !== undefined;
      },
    },

    pushedRequests: {
      async add({ id, clientId, parameters, expiresAt }) {
        const row = { id, client_id: clientId, parameters: JSON.stringify(parameters) };
        const expires_at = new Date(expiresAt * 1000);
        await db
          .insertInto('oauth_pushed_requests')
          .values({ ...row, expires_at })
          .execute();
      },
      async get(id) {
        const found = db.selectFrom('oauth_pushed_requests').selectAll().where('id', '=', id);
        const row = await found.executeTakeFirst();
        if (row === undefined) return undefined;
        const { client_id: clientId, parameters, expires_at } = row;
        return { id, clientId, parameters, expiresAt: expires_at.getTime() / 1000 };
      },
      async remove(id) {
        await db.deleteFrom('oauth_pushed_requests').where('id', '=', id).execute();
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = client.redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null');
  const row = { id: client.id, record: JSON.stringify(client), origins };
  const added = db.insertInto('oauth_clients').values(row);
  await added.onConflict((conflict) => conflict.column('id').doUpdateSet(row)).execute();
}
