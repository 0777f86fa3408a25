import { and, eq, inArray, isNull, or, sql } from 'drizzle-orm';
import type { NodePgQueryResultHKT } from 'drizzle-orm/node-postgres';
import type { PgDatabase, PgTransactionConfig } from 'drizzle-orm/pg-core';
import { codeFrom, tokenFrom } from '../records.ts';
import type { Statements } from '../tokens_of_grants.ts';
import { clients, codes, grants, tokens, users } from './schema.ts';

/** A Drizzle database or transaction with any schema. */
export interface Db
  extends Pick<PgDatabase<NodePgQueryResultHKT>, 'select' | 'insert' | 'update' | 'delete' | '$count'> {
  transaction<T>(work: (tx: Db) => Promise<T>, config?: PgTransactionConfig): Promise<T>;
}

/** Matches no identifier. */
const NONE = sql`NULL`;

/** What the state of a token or code depends on besides its own row. */
const STANDING = {
  grantRevokedAt: grants.revokedAt,
  clientDisabledAt: clients.disabledAt,
  userDisabledAt: users.disabledAt,
  tokenGeneration: users.tokenGeneration,
};

export const drizzleStatements: Statements<Db> = {
  atOnce: (db, work) => db.transaction(work, { isolationLevel: 'read committed' }),

  async findToken(db, id, kind) {
    const [row] = await db
      .select({ token: tokens, ...STANDING })
      .from(tokens)
      .innerJoin(clients, eq(clients.id, tokens.clientId))
      .leftJoin(users, eq(users.id, tokens.userId))
      .leftJoin(grants, eq(grants.id, tokens.grantId))
      .where(and(eq(tokens.id, id), eq(tokens.kind, kind)));
    return row && tokenFrom(row.token.record, { ...row.token, ...row });
  },

  async findCode(db, id) {
    const [row] = await db
      .select({ code: codes, ...STANDING })
      .from(codes)
      .innerJoin(clients, eq(clients.id, codes.clientId))
      .leftJoin(users, eq(users.id, codes.userId))
      .leftJoin(grants, eq(grants.id, codes.grantId))
      .where(eq(codes.id, id));
    return row && codeFrom(row.code.record, { ...row.code, ...row });
  },

  async lockClients(tx, ids) {
    const enabled = tx
      .select({ id: clients.id })
      .from(clients)
      .where(and(inArray(clients.id, ids), isNull(clients.disabledAt)));
    return (await enabled.orderBy(clients.id).for('share')).length;
  },

  async lockUsers(tx, ids) {
    const enabled = tx
      .select({ id: users.id, generation: users.tokenGeneration })
      .from(users)
      .where(and(inArray(users.id, ids), isNull(users.disabledAt)));
    const rows = await enabled.orderBy(users.id).for('share');
    return new Map(rows.map(({ id, generation }) => [id, generation]));
  },

  async holdPeople(tx, { clientId, subject }) {
    await tx.select({ id: clients.id }).from(clients).where(eq(clients.id, clientId)).for('key share');
    if (subject !== undefined)
      await tx.select({ id: users.id }).from(users).where(eq(users.id, subject)).for('key share');
  },

  async lockGrant(tx, { id, grantId }) {
    if (grantId === undefined)
      await tx.select({ id: tokens.id }).from(tokens).where(eq(tokens.id, id)).for('update');
    else await tx.select({ id: grants.id }).from(grants).where(eq(grants.id, grantId)).for('update');
  },

  async keepGrant(tx, id, keepUntil) {
    const later = sql`greatest(${grants.keepUntil}, excluded.keep_until)`;
    await tx
      .insert(grants)
      .values({ id, keepUntil })
      .onConflictDoUpdate({ target: grants.id, set: { keepUntil: later } });
  },

  async insertToken(tx, { keepUntil: seconds, ...record }, userGeneration) {
    const { id, kind, clientId, subject: userId, grantId, familyId, pairId } = record;
    const ties = { clientId, userId, userGeneration, grantId, familyId, pairId };
    await tx.insert(tokens).values({ id, kind, ...ties, keepUntil: new Date(seconds * 1000), record });
  },

  async insertCode(tx, record, userGeneration) {
    const { id, clientId, subject: userId, grantId } = record;
    await tx.insert(codes).values({ id, clientId, userId, userGeneration, grantId, record });
  },

  async supersedeToken(tx, id, successorId, supersededAt) {
    await tx.update(tokens).set({ supersededAt, successorId }).where(eq(tokens.id, id));
  },

  async redeemCode(tx, id, redeemedAt) {
    await tx.update(codes).set({ redeemedAt }).where(eq(codes.id, id));
  },

  async revokeGrant(db, id, revokedAt) {
    await db
      .update(grants)
      .set({ revokedAt })
      .where(and(eq(grants.id, id), isNull(grants.revokedAt)));
  },

  async revokeTokens(tx, { id, pairId, familyId, grantId }, of, revokedAt) {
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
    const pairs = [pairId, ...family.map((item) => item.pairId)].filter((pair) => typeof pair === 'string');
    const isEnded = or(
      inArray(tokens.id, [id, ...family.map((item) => item.id)]),
      and(eq(tokens.grantId, grantId ?? NONE), inArray(tokens.pairId, pairs)),
    );
    await tx
      .update(tokens)
      .set({ revokedAt })
      .where(and(isEnded, isNull(tokens.revokedAt)));
  },
};
