import { secondsOf } from '../../protocol/environment.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { formatScope } from '../../protocol/scope.ts';
import type { MintedToken } from '../../tokens/minting.ts';
import type { Context } from '../context.ts';
import type { TokenResponse } from './grant.ts';

/** What was issued together. */
export interface IssuedTokens {
  readonly access: MintedToken;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** RFC 6749 §5.1. */
export function tokenResponse(
  context: Context,
  { access, refreshToken, idToken }: IssuedTokens,
): TokenResponse {
  const { record, token } = access;
  return {
    access_token: token,
    token_type: record.tokenType ?? 'Bearer',
    expires_in: record.expiresAt - secondsOf(context.clock()),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(record.scopes.length > 0 && { scope: formatScope(record.scopes) }),
    ...(idToken !== undefined && { id_token: idToken }),
  };
}

/** A refusal of what the client presented (RFC 6749 §5.2). */
export function invalidGrant(description: string, reason: ReasonCode, value?: string): OAuthError {
  return new OAuthError('invalid_grant', description, { reason, value });
}

/** Between the check and the write something was revoked or disabled; nothing was issued. */
export function overtaken(): OAuthError {
  return invalidGrant('the grant is no longer valid', 'issuance_overtaken');
}
