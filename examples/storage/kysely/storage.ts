import type {
  AuthorizationCodeRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  Storage,
  TokenKind,
  TokenRecord,
} from '@grantd/core';
import { type Kysely, sql } from 'kysely';
import { kyselyKeys } from './keys.ts';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/**
 * grantd's storage in the host's own PostgreSQL, through the host's own Kysely; given a `Transaction`, everything is done
 * within it. What reads a grant in order to change it has locked its row, so that it happens one after the other.
 * @param clock milliseconds
 */
export function kyselyStorage(
  db: Db,
  clock: () => number = Date.now,
): Omit<Required<Storage>, 'getPrincipalState'> {
  const atOnce = <T>(work: (trx: Db) => Promise<T>): Promise<T> =>
    db.isTransaction ? work(db) : db.transaction().setIsolationLevel('read committed').execute(work);
  const now = () => new Date(clock());

  /** Whether tokens may rest upon it. Its grant is locked. */
  const isAlive = (record: TokenRecord | AuthorizationCodeRecord): boolean =>
    record.revokedAtMs === undefined &&
    record.issuedAtMs >= (record.notBeforeMs ?? 0) &&
    record.expiresAt * 1000 > clock() &&
    Object.values(record.standing ?? {}).every(({ disabledAtMs }) => disabledAtMs === undefined);

  const issueUpon = (
    { id, grantId }: TokenRecord,
    tokens: readonly NewToken[],
    successor?: NewToken,
  ): Promise<IssueOutcome | 'superseded'> =>
    atOnce(async (trx) => {
      await lockPeople(trx, tokens);
      await lockGrant(trx, grantId);
      const stored = await findToken(trx, id, 'refresh_token');
      if (stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      const outcome = await insertTokens(trx, tokens);
      if (outcome === 'issued' && successor !== undefined) {
        const superseded = { superseded_at: now(), successor_id: successor.id };
        await trx.updateTable('oauth_tokens').set(superseded).where('id', '=', id).execute();
      }
      return outcome;
    });

  const revokeGrant = async (id: string): Promise<void> => {
    const unrevoked = db.updateTable('oauth_grants').where('id', '=', id).where('revoked_at', 'is', null);
    await unrevoked.set({ revoked_at: now() }).execute();
  };

  /** Ends a token with its pair, and with these of its family, each with its pair. */
  const revokeTokens = (
    { id, pairId, familyId, grantId }: TokenRecord,
    of: 'whole family' | 'current refresh token',
  ): Promise<void> =>
    atOnce(async (trx) => {
      await lockGrant(trx, grantId);
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
      issue: (tokens) => atOnce((trx) => insertTokens(trx, tokens)),
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
          if (!(await admits(trx, code))) return 'refused';
          await keepGrant(trx, grant_id, new Date(expiresAt * 1000));
          const row = { id, client_id, user_id, grant_id, record: JSON.stringify(code) };
          await trx.insertInto('oauth_codes').values(row).execute();
          return 'issued';
        }),
      redeem: ({ id, grantId }, tokens) =>
        atOnce(async (trx) => {
          await lockPeople(trx, tokens);
          await lockGrant(trx, grantId);
          const stored = await findCode(trx, id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (stored === undefined || !isAlive(stored)) return 'refused';
          const outcome = await insertTokens(trx, tokens);
          const redeemed = trx.updateTable('oauth_codes').set({ redeemed_at: now() }).where('id', '=', id);
          if (outcome === 'issued') await redeemed.execute();
          return outcome;
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
      async take(id) {
        const removed = db.deleteFrom('oauth_pushed_requests').where('id', '=', id).returningAll();
        const row = await removed.executeTakeFirst();
        if (row === undefined) return undefined;
        const { client_id: clientId, parameters, expires_at } = row;
        return { id, clientId, parameters, expiresAt: expires_at.getTime() / 1000 };
      },
    },

    answersPlainRecords: true,
  };
}

/** Registers a client, or registers it anew. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = client.redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null');
  const row = { id: client.id, record: JSON.stringify(client), origins };
  const added = db.insertInto('oauth_clients').values(row);
  await added.onConflict((conflict) => conflict.column('id').doUpdateSet(row)).execute();
}

/** Deletes what nothing needs any more; codes go with their grants. To be called now and then. */
export async function sweep(db: Db, now = new Date()): Promise<void> {
  await db.deleteFrom('oauth_tokens').where('keep_until', '<=', now).execute();
  await db.deleteFrom('oauth_grants').where('keep_until', '<=', now).execute();
  await db.deleteFrom('oauth_pushed_requests').where('expires_at', '<=', now).execute();
  await db.deleteFrom('oauth_one_time_identifiers').where('expires_at', '<=', now).execute();
}

/** Whoever holds the lock is alone with the grant; what is read afterwards is as the last one left it. */
async function lockGrant(trx: Db, id: string | undefined): Promise<void> {
  if (id !== undefined)
    await trx.selectFrom('oauth_grants').select('id').where('id', '=', id).forUpdate().execute();
}

/** Locks a grant likewise, and makes it where there is none. */
async function keepGrant(trx: Db, id: string, keep_until: Date): Promise<void> {
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

/** Whether client and person are there and enabled; they stay so until the transaction ends. */
async function admits(
  trx: Db,
  { clientId, subject }: Pick<NewToken, 'clientId' | 'subject'>,
): Promise<boolean> {
  const clients = trx.selectFrom('oauth_clients').select('id').where('id', '=', clientId);
  if (!(await clients.where('disabled_at', 'is', null).forShare().executeTakeFirst())) return false;
  if (subject === undefined) return true;
  const users = trx.selectFrom('users').select('id').where('id', '=', subject);
  return (await users.where('disabled_at', 'is', null).forShare().executeTakeFirst()) !== undefined;
}

/** Before grants, in the order in which a host disables somebody and then ends what they granted. */
async function lockPeople(trx: Db, tokens: readonly NewToken[]): Promise<void> {
  for (const token of tokens) await admits(trx, token);
}

async function insertTokens(trx: Db, tokens: readonly NewToken[]): Promise<IssueOutcome> {
  for (const token of tokens) if (!(await admits(trx, token))) return 'refused';
  for (const { keepUntil, ...record } of tokens) {
    const { id, kind, clientId, subject = null, grantId = null, familyId = null, pairId = null } = record;
    const keep_until = new Date(keepUntil * 1000);
    if (grantId !== null) await keepGrant(trx, grantId, keep_until);
    const ties = { client_id: clientId, user_id: subject, grant_id: grantId };
    const row = { id, kind, ...ties, family_id: familyId, pair_id: pairId, keep_until };
    await trx
      .insertInto('oauth_tokens')
      .values({ ...row, record: JSON.stringify(record) })
      .execute();
  }
  return 'issued';
}

async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
  const row = await db
    .selectFrom('oauth_tokens as token')
    .innerJoin('oauth_clients as client', 'client.id', 'token.client_id')
    .leftJoin('users as user', 'user.id', 'token.user_id')
    .leftJoin('oauth_grants as grant', 'grant.id', 'token.grant_id')
    .select(['token.record', 'token.revoked_at', 'superseded_at', 'successor_id', ...STANDING])
    .where('token.id', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return {
    ...row.record,
    ...standingOf(row),
    ...(row.revoked_at && { revokedAtMs: row.revoked_at.getTime() }),
    ...(row.superseded_at && { supersededAtMs: row.superseded_at.getTime() }),
    ...(row.successor_id && { successorId: row.successor_id }),
  };
}

async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
  const row = await db
    .selectFrom('oauth_codes as code')
    .innerJoin('oauth_clients as client', 'client.id', 'code.client_id')
    .leftJoin('users as user', 'user.id', 'code.user_id')
    .leftJoin('oauth_grants as grant', 'grant.id', 'code.grant_id')
    .select(['code.record', 'redeemed_at', ...STANDING])
    .where('code.id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const redeemed = row.redeemed_at && { redeemedAtMs: row.redeemed_at.getTime() };
  return { ...row.record, ...standingOf(row), ...redeemed };
}

/** Is never equal to anything. */
const NONE = sql.lit(null);

/** What the life of a token or code depends on besides its own row. */
const STANDING = [
  'grant.revoked_at as grant_revoked_at',
  'client.disabled_at as client_disabled_at',
  'user.disabled_at as user_disabled_at',
  'user.signed_out_at as user_signed_out_at',
] as const;

function standingOf(row: {
  readonly grant_revoked_at: Date | null;
  readonly client_disabled_at: Date | null;
  readonly user_disabled_at: Date | null;
  readonly user_signed_out_at: Date | null;
}): Pick<TokenRecord, 'standing' | 'revokedAtMs' | 'notBeforeMs'> {
  const disabled = (at: Date | null) => ({
    copied: 0,
    current: 0,
    ...(at && { disabledAtMs: at.getTime() }),
  });
  return {
    standing: { client: disabled(row.client_disabled_at), subject: disabled(row.user_disabled_at) },
    ...(row.grant_revoked_at && { revokedAtMs: row.grant_revoked_at.getTime() }),
    ...(row.user_signed_out_at && { notBeforeMs: row.user_signed_out_at.getTime() }),
  };
}
