// Tokens that the old server signed, told in grantd's terms; grantd signs as it always does.
import type { Claims, JwtService, VerifiedJwt } from '@grantd/core';
import { compactVerify, decodeJwt, errors, type KeyObject } from 'jose';
import type { FormerTokens } from './former_tokens.ts';

/** The old server's key with the one algorithm that it is for; the public part alone where it has one. */
export interface OldKey {
  readonly algorithm: 'HS256' | 'RS256';
  readonly key: Uint8Array | KeyObject;
  /** `kid` of the old tokens; by default they have none. */
  readonly keyId?: string;
}

export function withOldSignatures(
  own: JwtService,
  old: OldKey,
  issuer: string,
  tokens: FormerTokens,
): JwtService {
  return {
    algorithms: own.algorithms,
    sign: (claims, signing) => own.sign(claims, signing),
    publicKeys: () => own.publicKeys(),
    async verify(token) {
      const jwt = await own.verify(token);
      if (jwt.verified) return jwt;
      const claims = await oldClaims(token, old);
      if (claims) return inOwnTerms(claims, issuer, tokens);
      // What names no key is malformed to grantd; here it is the old server's, or forged.
      return jwt.reason === 'malformed' ? { verified: false, reason: 'bad_signature' } : jwt;
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

/**
 * To the old server everything was of `typ` `JWT`: an access token has a `jti`, a refresh token another name for it, a code neither. Whom a
 * token is about is what its row says: whoever checked old tokens by their secret could have written another `sub`.
 */
async function inOwnTerms(old: Claims, iss: string, tokens: FormerTokens): Promise<VerifiedJwt> {
  const { refresh_token_id: jti, client_id, scope, iat, expire_time: exp } = old;
  const isAccessToken = old.jti !== undefined;
  const told: Claims = isAccessToken ? { iss, ...old } : { iss, client_id, scope, iat, exp, jti };
  const record = await tokens.find(isAccessToken ? 'access_token' : 'refresh_token', String(told.jti));
  const claims = { ...told, sub: record?.subject };
  return { verified: true, type: isAccessToken ? 'at+jwt' : 'rt+jwt', keyId: tokens.keyId, claims };
}
