import { codeFrom, tokenFrom } from '../records.ts';
import type { Statements } from '../tokens_of_grants.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

export type Db = PrismaClient | Prisma.TransactionClient;

/** Isolation level, and limits in milliseconds for the connection and the whole transaction. */
const TRANSACTION = { isolationLevel: 'ReadCommitted', maxWait: 10_000, timeout: 10_000 } as const;

/** Matches no identifier. `undefined` would match every row. */
const NONE = '';

/** What the state of a token or code depends on besides its own row. */
const STANDING = {
  client: { select: { disabledAt: true } },
  user: { select: { disabledAt: true, tokenGeneration: true } },
  grant: { select: { revokedAt: true } },
} as const;

function standingOf(row: {
  readonly client: { readonly disabledAt: Date | null };
  readonly user: { readonly disabledAt: Date | null; readonly tokenGeneration: number } | null;
  readonly grant: { readonly revokedAt: Date | null } | null;
}) {
  return {
    grantRevokedAt: row.grant?.revokedAt,
    clientDisabledAt: row.client.disabledAt,
    userDisabledAt: row.user?.disabledAt,
    tokenGeneration: row.user?.tokenGeneration,
  };
}

/** Prisma has no locks, so these are raw SQL. */
export const prismaStatements: Statements<Db> = {
  atOnce: (db, work) => ('$connect' in db ? db.$transaction(work, TRANSACTION) : work(db)),

  async findToken(db, id, kind) {
    const row = await db.token.findUnique({ where: { id, kind }, include: STANDING });
    return row === null ? undefined : tokenFrom(JSON.parse(row.record), { ...row, ...standingOf(row) });
  },

  async findCode(db, id) {
    const row = await db.code.findUnique({ where: { id }, include: STANDING });
    return row === null ? undefined : codeFrom(JSON.parse(row.record), { ...row, ...standingOf(row) });
  },

  async lockClients(tx, ids) {
    const clients = await tx.$queryRaw<readonly unknown[]>`
      SELECT id FROM oauth_clients WHERE id = ANY (${ids}::text[]) AND disabled_at IS NULL
      ORDER BY id FOR SHARE`;
    return clients.length;
  },

  async lockUsers(tx, ids) {
    const users = await tx.$queryRaw<readonly { readonly id: string; readonly token_generation: number }[]>`
      SELECT id, token_generation FROM users WHERE id = ANY (${ids}::text[]) AND disabled_at IS NULL
      ORDER BY id FOR SHARE`;
    return new Map(users.map((user) => [user.id, user.token_generation]));
  },

  async holdPeople(tx, { clientId, subject }) {
    await tx.$queryRaw`SELECT FROM oauth_clients WHERE id = ${clientId} FOR KEY SHARE`;
    if (subject !== undefined) await tx.$queryRaw`SELECT FROM users WHERE id = ${subject} FOR KEY SHARE`;
  },

  async lockGrant(tx, { id, grantId }) {
    if (grantId === undefined) await tx.$queryRaw`SELECT FROM oauth_tokens WHERE id = ${id} FOR UPDATE`;
    else await tx.$queryRaw`SELECT FROM oauth_grants WHERE id = ${grantId} FOR UPDATE`;
  },

  async keepGrant(tx, id, keepUntil) {
    await tx.$executeRaw`
      INSERT INTO oauth_grants AS stored (id, keep_until) VALUES (${id}, ${keepUntil})
      ON CONFLICT (id) DO UPDATE SET keep_until = greatest(stored.keep_until, excluded.keep_until)`;
  },

  async insertToken(tx, { keepUntil, ...record }, generation) {
    const { id, kind, clientId, subject = null, grantId = null, familyId = null, pairId = null } = record;
    const person = { userId: subject, userGeneration: generation ?? null };
    const row = { id, kind, clientId, ...person, grantId, familyId, pairId };
    await tx.token.create({
      data: { ...row, keepUntil: new Date(keepUntil * 1000), record: JSON.stringify(record) },
    });
  },

  async insertCode(tx, code, userGeneration) {
    const { id, clientId, subject: userId, grantId } = code;
    const row = { id, clientId, userId, userGeneration, grantId };
    await tx.code.create({ data: { ...row, record: JSON.stringify(code) } });
  },

  async supersedeToken(tx, id, successorId, supersededAt) {
    await tx.token.update({ where: { id }, data: { supersededAt, successorId } });
  },

  async redeemCode(tx, id, redeemedAt) {
    await tx.code.update({ where: { id }, data: { redeemedAt } });
  },

  async revokeGrant(db, id, revokedAt) {
    await db.grant.updateMany({ where: { id, revokedAt: null }, data: { revokedAt } });
  },

  async revokeTokens(tx, { id, pairId = NONE, familyId = NONE, grantId = NONE }, of, revokedAt) {
    const isCurrent = { kind: 'refresh_token', supersededAt: null };
    const where = { grantId, familyId, ...(of === 'current refresh token' && isCurrent) };
    const family = await tx.token.findMany({ where, select: { id: true, pairId: true } });
    const ids = [id, ...family.map((item) => item.id)];
    const pairs = [pairId, ...family.map((item) => item.pairId ?? NONE)];
    await tx.token.updateMany({
      where: { revokedAt: null, OR: [{ id: { in: ids } }, { grantId, pairId: { in: pairs } }] },
      data: { revokedAt },
    });
  },
};
