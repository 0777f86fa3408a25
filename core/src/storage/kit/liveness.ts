import type { TokenKind, TokenRecord } from '../../protocol/records.ts';
import type { Storage } from '../contract.ts';
import { canContinue } from '../issuing.ts';

/** What a store has under a token's identifier; `undefined` for absence in either spelling. */
export async function findToken(
  { tokens }: Storage,
  token: { readonly id: string; readonly kind: TokenKind },
): Promise<TokenRecord | undefined> {
  const record = await (token.kind === 'access_token'
    ? tokens.getByAccessToken(token.id)
    : tokens.getByRefreshToken(token.id));
  return record ?? undefined;
}

/**
 * Whether a token is alive, however the store says that it is not: by its absence, an expiry that has passed or is
 * zero, its own revocation, that of a principal, or when asked.
 * @param nowMs milliseconds
 */
export async function isAlive(
  storage: Storage,
  token: { readonly id: string; readonly kind: TokenKind },
  nowMs: number,
): Promise<boolean> {
  const record = await findToken(storage, token);
  if (record === undefined || !canContinue(record, nowMs)) return false;
  const isRevoked =
    token.kind === 'access_token'
      ? await storage.tokens.isAccessTokenRevoked?.(record)
      : await storage.tokens.isRefreshTokenRevoked(record);
  return isRevoked !== true;
}
