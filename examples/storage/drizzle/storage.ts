import type {
  AdministrableStorage,
  AuthorizationCodeRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  Storage,
  TokenRecord,
} from '@grantd/core';
import { and, arrayContains, eq, inArray, isNull, lte, or, sql } from 'drizzle-orm';
import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import type { PgDatabase, PgTransactionConfig } from 'drizzle-orm/pg-core';
import { holdPeople, insertTokens, keepGrant, lockGrant, lockPeople } from './issuing.ts';
import { drizzleKeys } from './keys.ts';
import { findCode, findToken } from './look_ups.ts';
import * as table from './schema.ts';
import { sweepOnce } from './sweep.ts';

/** A Drizzle database or transaction with any schema. */
export interface Db
  extends Pick<PgDatabase<NodePgQueryResultHKT>, 'select' | 'insert' | 'update' | 'delete' | '$count'> {
  transaction<T>(work: (tx: Db) => Promise<T>, config?: PgTransactionConfig): Promise<T>;
}

/** Matches no identifier. */
const NONE = sql`NULL`;

/**
 * grantd's storage in the host's PostgreSQL, through the host's Drizzle. With a transaction everything happens within
 * it. A change of a grant locks its row before reading, so changes happen one after another. Locks are taken in one
 * order: clients, users, grants, their tokens and codes.
 * @param clock milliseconds
 */
export function drizzleStorage(
  db: Db,
  clock: () => number = Date.now,
): Required<Omit<Storage, 'getPrincipalState'>> & Pick<AdministrableStorage, 'sweep'> {
  const { tokens, grants, clients, codes, oneTimeIdentifiers, pushedRequests } = table;
  const atOnce = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    db.transaction(work, { isolationLevel: 'read committed' });
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
    issued: readonly NewToken[],
    successor?: NewToken,
  ): Promise<IssueOutcome | 'superseded'> =>
    atOnce(async (tx) => {
      const generations = await lockPeople(tx, issued);
      await lockGrant(tx, record);
      const stored = await findToken(tx, record.id, 'refresh_token');
      if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      await insertTokens(tx, issued, generations);
      if (successor !== undefined) {
        const superseded = { supersededAt: now(), successorId: successor.id };
        await tx.update(tokens).set(superseded).where(eq(tokens.id, record.id));
      }
      return 'issued';
    });

  const revokeGrant = async (id: string): Promise<void> => {
    await db
      .update(grants)
      .set({ revokedAt: now() })
      .where(and(eq(grants.id, id), isNull(grants.revokedAt)));
  };

  /** Ends a token and these tokens of its family, each with its pair. */
  const revokeTokens = (record: TokenRecord, of: 'whole family' | 'current refresh token'): Promise<void> =>
    atOnce(async (tx) => {
      const { id, pairId, familyId, grantId } = record;
      await holdPeople(tx, record);
      await lockGrant(tx, record);
      const isCurrent = and(eq(tokens.kind, 'refresh_token'), isNull(tokens.supersededAt));
      const family = await tx
        .select({ id: tokens.id, pairId: tokens.pairId })
        .from(tokens)
        .where(
          and(
            eq(tokens.grantId, grantId ?? NONE),
            eq(tokens.familyId, familyId ?? NONE),
            of === 'whole family' ? undefined : isCurrent,
          ),
        );
      const pairs = [pairId, ...family.map((one) => one.pairId)].filter((pair) => typeof pair === 'string');
      const isEnded = or(
        inArray(tokens.id, [id, ...family.map((one) => one.id)]),
        and(eq(tokens.grantId, grantId ?? NONE), inArray(tokens.pairId, pairs)),
      );
      await tx
        .update(tokens)
        .set({ revokedAt: now() })
        .where(and(isEnded, isNull(tokens.revokedAt)));
    });

  return {
    clients: {
      async get(id) {
        const [row] = await db.select().from(clients).where(eq(clients.id, id));
        return row && { ...row.record, ...(row.disabledAt && { disabledAtMs: row.disabledAt.getTime() }) };
      },
      async hasRedirectOrigin(origin) {
        const isOfOrigin = and(isNull(clients.disabledAt), arrayContains(clients.origins, [origin]));
        return (await db.$count(clients, isOfOrigin)) > 0;
      },
    },

    tokens: {
      getByAccessToken: (id) => findToken(db, id, 'access_token'),
      getByRefreshToken: (id) => findToken(db, id, 'refresh_token'),
      async isRefreshTokenRevoked({ id }) {
        const found = await findToken(db, id, 'refresh_token');
        return found === undefined || found.revokedAtMs !== undefined;
      },
      issue: (issued) =>
        atOnce(async (tx) => {
          const generations = await lockPeople(tx, issued);
          if (generations === undefined) return 'refused';
          await insertTokens(tx, issued, generations);
          return 'issued';
        }),
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
      issue: (record) =>
        atOnce(async (tx) => {
          const { id, clientId, subject: userId, grantId, expiresAt } = record;
          const generations = await lockPeople(tx, [record]);
          if (generations === undefined) return 'refused';
          await keepGrant(tx, grantId, new Date(expiresAt * 1000));
          const userGeneration = generations.get(userId) ?? 0;
          await tx.insert(codes).values({ id, clientId, userId, userGeneration, grantId, record });
          return 'issued';
        }),
      redeem: (code, issued) =>
        atOnce(async (tx) => {
          const generations = await lockPeople(tx, issued);
          await lockGrant(tx, code);
          const stored = await findCode(tx, code.id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
          await insertTokens(tx, issued, generations);
          await tx.update(codes).set({ redeemedAt: now() }).where(eq(codes.id, code.id));
          return 'issued';
        }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: drizzleKeys(db, atOnce, now),

    oneTimeIdentifiers: {
      async take(id, seconds) {
        const row = { id, expiresAt: new Date(seconds * 1000) };
        const setWhere = lte(oneTimeIdentifiers.expiresAt, now());
        const taken = await db
          .insert(oneTimeIdentifiers)
          .values(row)
          .onConflictDoUpdate({ target: oneTimeIdentifiers.id, set: row, setWhere })
          .returning();
        return taken.length === 1;
      },
    },

    pushedRequests: {
      async add({ expiresAt, ...request }) {
        await db.insert(pushedRequests).values({ ...request, expiresAt: new Date(expiresAt * 1000) });
      },
      async get(id) {
        const [row] = await db.select().from(pushedRequests).where(eq(pushedRequests.id, id));
        return row && { ...row, expiresAt: row.expiresAt.getTime() / 1000 };
      },
      async remove(id) {
        await db.delete(pushedRequests).where(eq(pushedRequests.id, id));
      },
    },

    sweep: (limit) => sweepOnce(db, limit, now()),

    answersPlainRecords: true,
  };
}

/** Registers a client, or replaces its registration. */
export async function saveClient(db: Db, record: NewClient): Promise<void> {
  const origins = record.redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null');
  const row = { id: record.id, record, origins };
  await db.insert(table.clients).values(row).onConflictDoUpdate({ target: table.clients.id, set: row });
}
