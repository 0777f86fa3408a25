import type { AuthorizationCodeRecord, TokenKind, TokenRecord } from '@grantd/core';
import type { Db } from './storage.ts';

/** What the state of a token or code depends on besides its own row. */
const STANDING = {
  client: { select: { disabledAt: true } },
  user: { select: { disabledAt: true, tokenGeneration: true } },
  grant: { select: { revokedAt: true } },
} as const;

function standingOf(row: {
  readonly userGeneration: number | null;
  readonly client: { readonly disabledAt: Date | null };
  readonly user: { readonly disabledAt: Date | null; readonly tokenGeneration: number } | null;
  readonly grant: { readonly revokedAt: Date | null } | null;
}): Pick<TokenRecord, 'standing' | 'revokedAtMs'> {
  const disabled = (at: Date | null | undefined) => at && { disabledAtMs: at.getTime() };
  const { client, user, grant } = row;
  const generations = { copied: row.userGeneration ?? 0, current: user?.tokenGeneration ?? 0 };
  return {
    standing: {
      client: { copied: 0, current: 0, ...disabled(client.disabledAt) },
      subject: { ...generations, ...disabled(user?.disabledAt) },
    },
    ...(grant?.revokedAt && { revokedAtMs: grant.revokedAt.getTime() }),
  };
}

export async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
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

export async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
  const row = await db.code.findUnique({ where: { id }, include: STANDING });
  if (row === null) return undefined;
  const record: AuthorizationCodeRecord = JSON.parse(row.record);
  const redeemed = row.redeemedAt && { redeemedAtMs: row.redeemedAt.getTime() };
  return { ...record, ...standingOf(row), ...redeemed };
}
