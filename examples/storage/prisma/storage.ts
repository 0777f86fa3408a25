import type {
  AuthorizationCodeRecord,
  ClientRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  PushedRequest,
  Storage,
  TokenKind,
  TokenRecord,
} from '@grantd/core';
import { Prisma, type PrismaClient } from './generated/client.ts';
import { prismaKeys } from './keys.ts';

export type Db = PrismaClient | Prisma.TransactionClient;

/** How a transaction runs, with the milliseconds that it may wait for a connection, and take. */
const TRANSACTION = { isolationLevel: 'ReadCommitted', maxWait: 10_000, timeout: 10_000 } as const;

/**
 * grantd's storage in the host's own PostgreSQL, through the host's own Prisma; given the client of an interactive
 * transaction, everything is done within it. What reads a grant in order to change it has locked its row, so that it
 * happens one after the other; Prisma has no word for a lock, so these are raw.
 * @param clock milliseconds
 */
export function prismaStorage(db: Db, clock: () => number = Date.now): Required<Storage> {
  const atOnce = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    '$connect' in db ? db.$transaction(work, TRANSACTION) : work(db);
  const now = () => new Date(clock());

  /** Whether tokens may rest upon it. Its grant is locked. */
  const isAlive = (record: TokenRecord | AuthorizationCodeRecord): boolean =>
    record.revokedAtMs === undefined &&
    record.issuedAtMs >= (record.notBeforeMs ?? 0) &&
    record.expiresAt * 1000 > clock() &&
    Object.values(record.standing ?? {}).every(({ disabledAtMs }) => disabledAtMs === undefined);

  const issueUpon = (
    { id, grantId }: TokenRecord,
    issued: readonly NewToken[],
    successor?: NewToken,
  ): Promise<IssueOutcome | 'superseded'> =>
    atOnce(async (tx) => {
      await lockPeople(tx, issued);
      await lockGrant(tx, grantId);
      const stored = await findToken(tx, id, 'refresh_token');
      if (stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      const outcome = await insertTokens(tx, issued);
      if (outcome === 'issued' && successor !== undefined) {
        const data = { supersededAt: now(), successorId: successor.id };
        await tx.token.update({ where: { id }, data });
      }
      return outcome;
    });

  const revokeGrant = async (id: string): Promise<void> => {
    await db.grant.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: now() } });
  };

  /** Ends a token with its pair, and with these of its family, each with its pair. */
  const revokeTokens = (
    { id, pairId = NONE, familyId = NONE, grantId = NONE }: TokenRecord,
    of: 'whole family' | 'current refresh token',
  ): Promise<void> =>
    atOnce(async (tx) => {
      await lockGrant(tx, grantId);
      const isCurrent = { kind: 'refresh_token', supersededAt: null };
      const where = { grantId, familyId, ...(of === 'current refresh token' && isCurrent) };
      const family = await tx.token.findMany({ where, select: { id: true, pairId: true } });
      const ids = [id, ...family.map((one) => one.id)];
      const pairs = [pairId, ...family.map((one) => one.pairId ?? NONE)];
      await tx.token.updateMany({
        where: { revokedAt: null, OR: [{ id: { in: ids } }, { grantId, pairId: { in: pairs } }] },
        data: { revokedAt: now() },
      });
    });

  return {
    clients: {
      async get(id) {
        const row = await db.client.findUnique({ where: { id } });
        if (row === null) return undefined;
        const record: ClientRecord = JSON.parse(row.record);
        return { ...record, ...(row.disabledAt && { disabledAtMs: row.disabledAt.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        return (await db.client.count({ where: { disabledAt: null, origins: { has: origin } } })) > 0;
      },
    },

    tokens: {
      getByAccessToken: (id) => findToken(db, id, 'access_token'),
      getByRefreshToken: (id) => findToken(db, id, 'refresh_token'),
      async isRefreshTokenRevoked({ id }) {
        const found = await findToken(db, id, 'refresh_token');
        return found === undefined || found.revokedAtMs !== undefined;
      },
      issue: (issued) => atOnce((tx) => insertTokens(tx, issued)),
      rotate: (record, successor, issued) => issueUpon(record, issued, successor),
      issueBeside: (record, issued) => issueUpon(record, issued),
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
        atOnce(async (tx) => {
          const { id, clientId, subject: userId, grantId, expiresAt } = code;
          if (!(await admits(tx, code))) return 'refused';
          await keepGrant(tx, grantId, new Date(expiresAt * 1000));
          await tx.code.create({ data: { id, clientId, userId, grantId, record: JSON.stringify(code) } });
          return 'issued';
        }),
      redeem: ({ id, grantId }, issued) =>
        atOnce(async (tx) => {
          await lockPeople(tx, issued);
          await lockGrant(tx, grantId);
          const stored = await findCode(tx, id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (stored === undefined || !isAlive(stored)) return 'refused';
          const outcome = await insertTokens(tx, issued);
          if (outcome === 'issued') await tx.code.update({ where: { id }, data: { redeemedAt: now() } });
          return outcome;
        }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: prismaKeys(db, atOnce, now),

    oneTimeIdentifiers: {
      async take(id, seconds) {
        const row = { id, expiresAt: new Date(seconds * 1000) };
        const added = await db.oneTimeIdentifier.createMany({ data: row, skipDuplicates: true });
        if (added.count === 1) return true;
        const isOver = { id, expiresAt: { lte: now() } };
        return (await db.oneTimeIdentifier.updateMany({ where: isOver, data: row })).count === 1;
      },
    },

    pushedRequests: {
      async add(request) {
        const row = { id: request.id, expiresAt: new Date(request.expiresAt * 1000) };
        await db.pushedRequest.create({ data: { ...row, record: JSON.stringify(request) } });
      },
      async take(id) {
        const row = await db.pushedRequest.findUnique({ where: { id } });
        if (row === null) return undefined;
        const request: PushedRequest = JSON.parse(row.record);
        return (await db.pushedRequest.deleteMany({ where: { id } })).count === 1 ? request : undefined;
      },
    },

    answersPlainRecords: true,
  };
}

/** Registers a client, or registers it anew. */
export async function saveClient(db: Db, client: NewClient): Promise<void> {
  const origins = client.redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null');
  const row = { id: client.id, record: JSON.stringify(client), origins };
  await db.client.upsert({ where: { id: client.id }, create: row, update: row });
}

/** Deletes what nothing needs any more; codes go with their grants. To be called now and then. */
export async function sweep(db: Db, now = new Date()): Promise<void> {
  await db.token.deleteMany({ where: { keepUntil: { lte: now } } });
  await db.grant.deleteMany({ where: { keepUntil: { lte: now } } });
  await db.pushedRequest.deleteMany({ where: { expiresAt: { lte: now } } });
  await db.oneTimeIdentifier.deleteMany({ where: { expiresAt: { lte: now } } });
}

/** No identifier of anything; `undefined` would be no condition at all. */
const NONE = '';

/** Whoever holds the lock is alone with the grant; what is read afterwards is as the last one left it. */
async function lockGrant(tx: Db, id = NONE): Promise<void> {
  await tx.$queryRaw`SELECT FROM oauth_grants WHERE id = ${id} FOR UPDATE`;
}

/** Locks a grant likewise, and makes it where there is none. */
async function keepGrant(tx: Db, id: string, keepUntil: Date): Promise<void> {
  await tx.$executeRaw`
    INSERT INTO oauth_grants AS stored (id, keep_until) VALUES (${id}, ${keepUntil})
    ON CONFLICT (id) DO UPDATE SET keep_until = greatest(stored.keep_until, excluded.keep_until)`;
}

/** Whether client and person are there and enabled; they stay so until the transaction ends. */
async function admits(
  tx: Db,
  { clientId, subject }: Pick<NewToken, 'clientId' | 'subject'>,
): Promise<boolean> {
  const locked = (table: 'oauth_clients' | 'users', id: string): Promise<number> =>
    tx.$executeRaw`SELECT FROM ${Prisma.raw(table)} WHERE id = ${id} AND disabled_at IS NULL FOR SHARE`;
  return (
    (await locked('oauth_clients', clientId)) === 1 &&
    (subject === undefined || (await locked('users', subject)) === 1)
  );
}

/** Before grants, in the order in which a host disables somebody and then ends what they granted. */
async function lockPeople(tx: Db, issued: readonly NewToken[]): Promise<void> {
  for (const token of issued) await admits(tx, token);
}

async function insertTokens(tx: Db, issued: readonly NewToken[]): Promise<IssueOutcome> {
  for (const token of issued) if (!(await admits(tx, token))) return 'refused';
  for (const { keepUntil: seconds, ...record } of issued) {
    const { id, kind, clientId, subject, grantId, familyId, pairId } = record;
    const keepUntil = new Date(seconds * 1000);
    if (grantId !== undefined) await keepGrant(tx, grantId, keepUntil);
    const ties = { userId: subject ?? null, grantId: grantId ?? null, familyId: familyId ?? null };
    const row = { id, kind, clientId, ...ties, pairId: pairId ?? null, keepUntil };
    await tx.token.create({ data: { ...row, record: JSON.stringify(record) } });
  }
  return 'issued';
}

/** What the life of a token or code depends on besides its own row. */
const STANDING = {
  client: { select: { disabledAt: true } },
  user: { select: { disabledAt: true, signedOutAt: true } },
  grant: { select: { revokedAt: true } },
} as const;

async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
  const row = await db.token.findUnique({ where: { id, kind }, include: STANDING });
  if (row === null) return undefined;
  const { revokedAt, supersededAt, successorId } = row;
  const record: TokenRecord = JSON.parse(row.record);
  return {
    ...record,
    ...standingOf(row),
    ...(revokedAt && { revokedAtMs: revokedAt.getTime() }),
    ...(supersededAt && { supersededAtMs: supersededAt.getTime() }),
    ...(successorId && { successorId }),
  };
}

async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
  const row = await db.code.findUnique({ where: { id }, include: STANDING });
  if (row === null) return undefined;
  const record: AuthorizationCodeRecord = JSON.parse(row.record);
  const redeemed = row.redeemedAt && { redeemedAtMs: row.redeemedAt.getTime() };
  return { ...record, ...standingOf(row), ...redeemed };
}

function standingOf(row: {
  readonly client: { readonly disabledAt: Date | null };
  readonly user: { readonly disabledAt: Date | null; readonly signedOutAt: Date | null } | null;
  readonly grant: { readonly revokedAt: Date | null } | null;
}): Pick<TokenRecord, 'standing' | 'revokedAtMs' | 'notBeforeMs'> {
  const disabled = (at: Date | null = null) => ({
    copied: 0,
    current: 0,
    ...(at && { disabledAtMs: at.getTime() }),
  });
  const { client, user, grant } = row;
  return {
    standing: { client: disabled(client.disabledAt), subject: disabled(user?.disabledAt) },
    ...(grant?.revokedAt && { revokedAtMs: grant.revokedAt.getTime() }),
    ...(user?.signedOutAt && { notBeforeMs: user.signedOutAt.getTime() }),
  };
}
