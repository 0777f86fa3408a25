import type {
  AuthorizationCodeRecord,
  IssueOutcome,
  NewClient,
  NewToken,
  Storage,
  TokenKind,
  TokenRecord,
} from '@grantd/core';
import { and, arrayContains, eq, inArray, isNull, lte, or, sql } from 'drizzle-orm';
import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import type { PgDatabase } from 'drizzle-orm/pg-core';
import { drizzleKeys } from './keys.ts';
import * as table from './schema.ts';

/** Of a Drizzle database or transaction, whatever schema the host gave it. */
export interface Db
  extends Pick<PgDatabase<NodePgQueryResultHKT>, 'select' | 'insert' | 'update' | 'delete' | '$count'> {
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
}

/**
 * grantd's storage in the host's own PostgreSQL, through the host's own Drizzle; given a transaction, everything is done
 * within it. What reads a grant in order to change it has locked its row, so that it happens one after the other.
 * @param clock milliseconds
 */
export function drizzleStorage(
  db: Db,
  clock: () => number = Date.now,
): Omit<Required<Storage>, 'getPrincipalState'> {
  const { tokens, grants, clients, codes, oneTimeIdentifiers, pushedRequests } = table;
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
    db.transaction(async (tx) => {
      await lockPeople(tx, issued);
      await lockGrant(tx, grantId);
      const stored = await findToken(tx, id, 'refresh_token');
      if (stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      const outcome = await insertTokens(tx, issued);
      if (outcome === 'issued' && successor !== undefined) {
        const superseded = { supersededAt: now(), successorId: successor.id };
        await tx.update(tokens).set(superseded).where(eq(tokens.id, id));
      }
      return outcome;
    });

  const revokeGrant = async (id: string): Promise<void> => {
    await db
      .update(grants)
      .set({ revokedAt: now() })
      .where(and(eq(grants.id, id), isNull(grants.revokedAt)));
  };

  /** Ends a token with its pair, and with these of its family, each with its pair. */
  const revokeTokens = (
    { id, pairId, familyId, grantId }: TokenRecord,
    of: 'whole family' | 'current refresh token',
  ): Promise<void> =>
    db.transaction(async (tx) => {
      await lockGrant(tx, grantId);
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
      issue: (issued) => db.transaction((tx) => insertTokens(tx, issued)),
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
        db.transaction(async (tx) => {
          const { id, clientId, subject: userId, grantId, expiresAt } = record;
          if (!(await admits(tx, record))) return 'refused';
          await keepGrant(tx, grantId, new Date(expiresAt * 1000));
          await tx.insert(codes).values({ id, clientId, userId, grantId, record });
          return 'issued';
        }),
      redeem: ({ id, grantId }, issued) =>
        db.transaction(async (tx) => {
          await lockPeople(tx, issued);
          await lockGrant(tx, grantId);
          const stored = await findCode(tx, id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (stored === undefined || !isAlive(stored)) return 'refused';
          const outcome = await insertTokens(tx, issued);
          if (outcome === 'issued') await tx.update(codes).set({ redeemedAt: now() }).where(eq(codes.id, id));
          return outcome;
        }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: drizzleKeys(db, now),

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
      async take(id) {
        const [row] = await db.delete(pushedRequests).where(eq(pushedRequests.id, id)).returning();
        return row && { ...row, expiresAt: row.expiresAt.getTime() / 1000 };
      },
    },

    answersPlainRecords: true,
  };
}

/** Registers a client, or registers it anew. */
export async function saveClient(db: Db, record: NewClient): Promise<void> {
  const origins = record.redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== 'null');
  const row = { id: record.id, record, origins };
  await db.insert(table.clients).values(row).onConflictDoUpdate({ target: table.clients.id, set: row });
}

/** Deletes what nothing needs any more; codes go with their grants. To be called now and then. */
export async function sweep(db: Db, now = new Date()): Promise<void> {
  await db.delete(table.tokens).where(lte(table.tokens.keepUntil, now));
  await db.delete(table.grants).where(lte(table.grants.keepUntil, now));
  await db.delete(table.pushedRequests).where(lte(table.pushedRequests.expiresAt, now));
  await db.delete(table.oneTimeIdentifiers).where(lte(table.oneTimeIdentifiers.expiresAt, now));
}

/** Whoever holds the lock is alone with the grant; what is read afterwards is as the last one left it. */
async function lockGrant(tx: Db, id: string | undefined): Promise<void> {
  if (id !== undefined) await tx.select().from(table.grants).where(eq(table.grants.id, id)).for('update');
}

/** Locks a grant likewise, and makes it where there is none. */
async function keepGrant(tx: Db, id: string, keepUntil: Date): Promise<void> {
  const later = sql`greatest(${table.grants.keepUntil}, excluded.keep_until)`;
  await tx
    .insert(table.grants)
    .values({ id, keepUntil })
    .onConflictDoUpdate({ target: table.grants.id, set: { keepUntil: later } });
}

/** Whether client and person are there and enabled; they stay so until the transaction ends. */
async function admits(
  tx: Db,
  { clientId, subject }: Pick<NewToken, 'clientId' | 'subject'>,
): Promise<boolean> {
  const { clients, users } = table;
  const isEnabledClient = and(eq(clients.id, clientId), isNull(clients.disabledAt));
  const [client] = await tx.select().from(clients).where(isEnabledClient).for('share');
  if (client === undefined || subject === undefined) return client !== undefined;
  const isEnabledUser = and(eq(users.id, subject), isNull(users.disabledAt));
  return (await tx.select().from(users).where(isEnabledUser).for('share')).length === 1;
}

/** Before grants, in the order in which a host disables somebody and then ends what they granted. */
async function lockPeople(tx: Db, issued: readonly NewToken[]): Promise<void> {
  for (const token of issued) await admits(tx, token);
}

async function insertTokens(tx: Db, issued: readonly NewToken[]): Promise<IssueOutcome> {
  for (const token of issued) if (!(await admits(tx, token))) return 'refused';
  for (const { keepUntil: seconds, ...record } of issued) {
    const { id, kind, clientId, subject: userId, grantId, familyId, pairId } = record;
    const keepUntil = new Date(seconds * 1000);
    if (grantId !== undefined) await keepGrant(tx, grantId, keepUntil);
    const ties = { clientId, userId, grantId, familyId, pairId };
    await tx.insert(table.tokens).values({ id, kind, ...ties, keepUntil, record });
  }
  return 'issued';
}

async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
  const { tokens, clients, users, grants } = table;
  const [row] = await db
    .select({ token: tokens, ...STANDING })
    .from(tokens)
    .innerJoin(clients, eq(clients.id, tokens.clientId))
    .leftJoin(users, eq(users.id, tokens.userId))
    .leftJoin(grants, eq(grants.id, tokens.grantId))
    .where(and(eq(tokens.id, id), eq(tokens.kind, kind)));
  if (row === undefined) return undefined;
  const { record, revokedAt, supersededAt, successorId } = row.token;
  return {
    ...record,
    ...standingOf(row),
    ...(revokedAt && { revokedAtMs: revokedAt.getTime() }),
    ...(supersededAt && { supersededAtMs: supersededAt.getTime() }),
    ...(successorId && { successorId }),
  };
}

async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
  const { codes, clients, users, grants } = table;
  const [row] = await db
    .select({ record: codes.record, redeemedAt: codes.redeemedAt, ...STANDING })
    .from(codes)
    .innerJoin(clients, eq(clients.id, codes.clientId))
    .leftJoin(users, eq(users.id, codes.userId))
    .leftJoin(grants, eq(grants.id, codes.grantId))
    .where(eq(codes.id, id));
  if (row === undefined) return undefined;
  const redeemed = row.redeemedAt && { redeemedAtMs: row.redeemedAt.getTime() };
  return { ...row.record, ...standingOf(row), ...redeemed };
}

/** Is never equal to anything. */
const NONE = sql`NULL`;

/** What the life of a token or code depends on besides its own row. */
const STANDING = {
  grantRevokedAt: table.grants.revokedAt,
  clientDisabledAt: table.clients.disabledAt,
  userDisabledAt: table.users.disabledAt,
  userSignedOutAt: table.users.signedOutAt,
};

function standingOf(
  row: Readonly<Record<keyof typeof STANDING, Date | null>>,
): Pick<TokenRecord, 'standing' | 'revokedAtMs' | 'notBeforeMs'> {
  const disabled = (at: Date | null) => ({
    copied: 0,
    current: 0,
    ...(at && { disabledAtMs: at.getTime() }),
  });
  return {
    standing: { client: disabled(row.clientDisabledAt), subject: disabled(row.userDisabledAt) },
    ...(row.grantRevokedAt && { revokedAtMs: row.grantRevokedAt.getTime() }),
    ...(row.userSignedOutAt && { notBeforeMs: row.userSignedOutAt.getTime() }),
  };
}
