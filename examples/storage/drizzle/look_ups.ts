import type { AuthorizationCodeRecord, TokenKind, TokenRecord } from '@grantd/core';
import { and, eq } from 'drizzle-orm';
import { clients, codes, grants, tokens, users } from './schema.ts';
import type { Db } from './storage.ts';

/** What the state of a token or code depends on besides its own row. */
const STANDING = {
  grantRevokedAt: grants.revokedAt,
  clientDisabledAt: clients.disabledAt,
  userDisabledAt: users.disabledAt,
  tokenGeneration: users.tokenGeneration,
};

function standingOf(
  row: {
    readonly grantRevokedAt: Date | null;
    readonly clientDisabledAt: Date | null;
    readonly userDisabledAt: Date | null;
    readonly tokenGeneration: number | null;
  },
  copied: number | null,
): Pick<TokenRecord, 'standing' | 'revokedAtMs'> {
  const disabled = (at: Date | null) => at && { disabledAtMs: at.getTime() };
  const generations = { copied: copied ?? 0, current: row.tokenGeneration ?? 0 };
  return {
    standing: {
      client: { copied: 0, current: 0, ...disabled(row.clientDisabledAt) },
      subject: { ...generations, ...disabled(row.userDisabledAt) },
    },
    ...(row.grantRevokedAt && { revokedAtMs: row.grantRevokedAt.getTime() }),
  };
}

export async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
  const [row] = await db
    .select({ token: tokens, ...STANDING })
    .from(tokens)
    .innerJoin(clients, eq(clients.id, tokens.clientId))
    .leftJoin(users, eq(users.id, tokens.userId))
    .leftJoin(grants, eq(grants.id, tokens.grantId))
    .where(and(eq(tokens.id, id), eq(tokens.kind, kind)));
  if (row === undefined) return undefined;
  const { record, userGeneration, revokedAt, supersededAt, successorId } = row.token;
  return {
    ...record,
    ...standingOf(row, userGeneration),
    ...(revokedAt && { revokedAtMs: revokedAt.getTime() }),
    ...(supersededAt && { supersededAtMs: supersededAt.getTime() }),
    ...(successorId && { successorId }),
  };
}

export async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
  const [row] = await db
    .select({ code: codes, ...STANDING })
    .from(codes)
    .innerJoin(clients, eq(clients.id, codes.clientId))
    .leftJoin(users, eq(users.id, codes.userId))
    .leftJoin(grants, eq(grants.id, codes.grantId))
    .where(eq(codes.id, id));
  if (row === undefined) return undefined;
  const { record, userGeneration, redeemedAt } = row.code;
  const redeemed = redeemedAt && { redeemedAtMs: redeemedAt.getTime() };
  return { ...record, ...standingOf(row, userGeneration), ...redeemed };
}
