// Tokens that the old server signed, told in grantd's terms; grantd signs as it always does.
import type { Claims, JwtService, VerifiedJwt } from '@grantd/core';
import { compactVerify, decodeJwt, errors, type KeyObject } from 'jose';

/** The old server's key with the one algorithm that it is for; the public part alone where it has one. */
export interface OldKey {
  readonly algorithm: 'HS256' | 'RS256';
  readonly key: Uint8Array | KeyObject;
  /** `kid` of the old tokens; by default they have none. */
  readonly keyId?: string;
}

/** `keyId` of what the old server signed. */
export const OLD_KEY = 'old';

export function withOldSignatures(own: JwtService, old: OldKey, issuer: string): JwtService {
  return {
    algorithms: own.algorithms,
    sign: (claims, signing) => own.sign(claims, signing),
    publicKeys: () => own.publicKeys(),
    async verify(token) {
      const jwt = await own.verify(token);
      if (jwt.verified || jwt.reason === 'bad_signature') return jwt;
      const claims = await oldClaims(token, old);
      return claims ? inOwnTerms(claims, issuer) : { verified: false, reason: 'bad_signature' };
    },
  };
}

/** @returns `undefined` where the old key did not sign it */
async function oldClaims(token: string, { key, algorithm, keyId }: OldKey): Promise<Claims | undefined> {
  try {
    const { protectedHeader } = await compactVerify(token, key, { algorithms: [algorithm] });
    return protectedHeader.kid === keyId ? decodeJwt(token) : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** The old server wrote no `typ`: an access token has a `jti`, a refresh token another name for it, a code neither. */
function inOwnTerms(claims: Claims, iss: string): VerifiedJwt {
  const { jti, sub, refresh_token_id, user_id, client_id, scope, iat, expire_time } = claims;
  const isRefreshToken = jti === undefined && refresh_token_id !== undefined;
  const person = isRefreshToken ? user_id : sub;
  const told = isRefreshToken
    ? { iss, client_id, scope, iat, exp: expire_time, jti: refresh_token_id }
    : { iss, ...claims };
  const type = isRefreshToken ? 'rt+jwt' : 'at+jwt';
  const subject = person !== undefined && person !== null && { sub: String(person) };
  return { verified: true, type, keyId: OLD_KEY, claims: { ...told, ...subject } };
}
