import type { VerifiedAccessToken } from './verified_access_token.ts';

/**
 * What `protect` left behind for the handler.
 * @throws {TypeError} it was not asked for this request
 */
export function foundToken(left: unknown): VerifiedAccessToken {
  if (isVerified(left)) return left;
  throw new TypeError('the request carries no verified token: protect() does not stand before this handler');
}

function isVerified(value: unknown): value is VerifiedAccessToken {
  return typeof value === 'object' && value !== null && 'scopes' in value && 'claims' in value;
}
