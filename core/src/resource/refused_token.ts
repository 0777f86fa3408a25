import { OAuthError } from '../protocol/oauth_error.ts';
import type { ReasonCode } from '../protocol/reasons.ts';
import { LONGEST_ACCESS_TOKEN } from '../protocol/request_limits.ts';

/** `invalid_token`; what the bearer may know of the reason is in the description. */
export function refusedToken(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_token', DESCRIPTIONS[reason] ?? 'the access token is not valid', { reason });
}

/** @throws {OAuthError} `invalid_token`: nobody issues such a long one, and nobody shall be made to read it */
export function requireTokenLength(token: string): void {
  if (token.length > LONGEST_ACCESS_TOKEN) throw refusedToken('malformed');
}

const DESCRIPTIONS: Partial<Record<ReasonCode, string>> = {
  malformed: 'the access token is malformed',
  wrong_type: 'the token is not an access token that a bearer may use',
  wrong_issuer: 'the access token is from another issuer',
  audience_wrong: 'the access token is meant for another API',
  expired: 'the access token is expired',
  not_yet_valid: 'the access token is not valid yet',
  not_active: 'the access token is not active',
};
