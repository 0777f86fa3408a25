import type {
  AdministrableStorage,
  AuthorizationCodeRecord,
  ClientRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  PushedRequest,
  Storage,
  TokenRecord,
} from '@grantd/core';
import type { Prisma, PrismaClient } from './generated/client.ts';
import { holdPeople, insertTokens, keepGrant, lockGrant, lockPeople } from './issuing.ts';
import { prismaKeys } from './keys.ts';
import { findCode, findToken } from './look_ups.ts';
import { sweepOnce } from './sweep.ts';

export type Db = PrismaClient | Prisma.TransactionClient;

/** Isolation level, and limits in milliseconds for the connection and the whole transaction. */
const TRANSACTION = { isolationLevel: 'ReadCommitted', maxWait: 10_000, timeout: 10_000 } as const;

/** Matches no identifier. `undefined` would match every row. */
const NONE = '';

/**
 * grantd's storage in the host's PostgreSQL, through the host's Prisma. With the client of an interactive transaction
 * everything happens within it. A change of a grant locks its row before reading, so changes happen one after another.
 * The locks are raw SQL, since Prisma has none. They are taken in one order: clients, users, grants, their tokens and
 * codes.
 * @param clock milliseconds
 */
export function prismaStorage(
  db: Db,
  clock: () => number = Date.now,
): Required<Omit<Storage, 'getPrincipalState'>> & Pick<AdministrableStorage, 'sweep'> {
  const atOnce = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    '$connect' in db ? db.$transaction(work, TRANSACTION) : work(db);
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
    atOnce(async (tx) => {
      const generations = await lockPeople(tx, tokens);
      await lockGrant(tx, record);
      const stored = await findToken(tx, record.id, 'refresh_token');
      if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      await insertTokens(tx, tokens, generations);
      if (successor !== undefined) {
        const data = { supersededAt: now(), successorId: successor.id };
        await tx.token.update({ where: { id: record.id }, data });
      }
      return 'issued';
    });

  const revokeGrant = async (id: string): Promise<void> => {
    await db.grant.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: now() } });
  };

  /** Ends a token and these tokens of its family, each with its pair. */
  const revokeTokens = (record: TokenRecord, of: 'whole family' | 'current refresh token'): Promise<void> =>
    atOnce(async (tx) => {
      const { id, pairId = NONE, familyId = NONE, grantId = NONE } = record;
      await holdPeople(tx, record);
      await lockGrant(tx, record);
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
      issue: (tokens) =>
        atOnce(async (tx) => {
          const generations = await lockPeople(tx, tokens);
          if (generations === undefined) return 'refused';
          await insertTokens(tx, tokens, generations);
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
        atOnce(async (tx) => {
          const { id, clientId, subject: userId, grantId, expiresAt } = code;
          const generations = await lockPeople(tx, [code]);
          if (generations === undefined) return 'refused';
          await keepGrant(tx, grantId, new Date(expiresAt * 1000));
          const ties = { clientId, userId, userGeneration: generations.get(userId) ?? 0, grantId };
          await tx.code.create({ data: { id, ...ties, record: JSON.stringify(code) } });
          return 'issued';
        }),
      redeem: (code, tokens) =>
        atOnce(async (tx) => {
          const generations = await lockPeople(tx, tokens);
          await lockGrant(tx, code);
          const stored = await findCode(tx, code.id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
          await insertTokens(tx, tokens, generations);
          await tx.code.update({ where: { id: code.id }, data: { redeemedAt: now() } });
          return 'issued';
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
      async get(id): Promise<PushedRequest | undefined> {
        const row = await db.pushedRequest.findUnique({ where: { id } });
        return row === null ? undefined : JSON.parse(row.record);
      },
      async remove(id) {
        await db.pushedRequest.deleteMany({ where: { id } });
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
  await db.client.upsert({ where: { id: client.id }, create: row, update: row });
}
