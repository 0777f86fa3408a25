import type { AuthorizationCodeRecord, TokenKind, TokenRecord } from '@grantd/core';
import type { Kysely } from 'kysely';
import type { GrantdTables } from './tables.ts';

type Db = Kysely<GrantdTables>;

/** What the state of a token or code depends on besides its own row. */
const STANDING = [
  'grant.revoked_at as grant_revoked_at',
  'client.disabled_at as client_disabled_at',
  'user.disabled_at as user_disabled_at',
  'user_generation',
  'token_generation',
] as const;

function standingOf(row: {
  readonly grant_revoked_at: Date | null;
  readonly client_disabled_at: Date | null;
  readonly user_disabled_at: Date | null;
  readonly user_generation: number | null;
  readonly token_generation: number | null;
}): Pick<TokenRecord, 'standing' | 'revokedAtMs'> {
  const disabled = (at: Date | null) => at && { disabledAtMs: at.getTime() };
  const generations = { copied: row.user_generation ?? 0, current: row.token_generation ?? 0 };
  return {
    standing: {
      client: { copied: 0, current: 0, ...disabled(row.client_disabled_at) },
      subject: { ...generations, ...disabled(row.user_disabled_at) },
    },
    ...(row.grant_revoked_at && { revokedAtMs: row.grant_revoked_at.getTime() }),
  };
}

export async function findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined> {
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

export async function findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined> {
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
