import type { Claims } from '../protocol/claims.ts';
import { secondsOf } from '../protocol/environment.ts';
import { formatScope } from '../protocol/scope.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES } from './jwt_types.ts';
import {
  jwtIdentity,
  type MintedToken,
  opaqueIdentity,
  purposeOfRecord,
  type TokenPurpose,
} from './minting.ts';
import { newOpaque, newTimedIdentifier } from './opaque_token.ts';

/**
 * An access token: a JWT by RFC 9068, or opaque.
 * @param keepUntil seconds until which the record is kept at least, so that an expired token can still be
 *   revoked together with its refresh token
 */
export async function mintAccessToken(
  context: TokenContext,
  purpose: TokenPurpose,
  keepUntil = 0,
): Promise<MintedToken> {
  const { client, scopes } = purpose;
  const { sid: _, ...grantClaims } = purpose.claims ?? {}; // an API has no business with the session
  const userinfo = purpose.claimsRequest?.userinfo;
  const issuedAtMs = context.clock();
  const iat = secondsOf(issuedAtMs);
  const exp = iat + (purpose.lifetime ?? context.lifetimes.accessToken);
  const jti = newTimedIdentifier(context);
  const claims: Claims = {
    iss: context.issuer,
    sub: purpose.person?.sub ?? client.id,
    aud: purpose.audience ?? context.defaultAudience,
    client_id: client.id,
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...grantClaims,
    iat,
    exp,
    jti,
  };
  const record = {
    ...purposeOfRecord(purpose),
    kind: 'access_token',
    tokenType: 'Bearer',
    issuedAtMs,
    expiresAt: exp,
    keepUntil: Math.max(exp, keepUntil),
    ...(userinfo !== undefined && { claimsRequest: { userinfo } }),
  } as const;
  if ((purpose.format ?? client.accessTokenFormat ?? context.accessTokenFormat) === 'opaque') {
    const token = newOpaque('access_token', context.random);
    return { token, record: { ...record, ...(await opaqueIdentity(token)), claims } };
  }
  const algorithm = client.accessTokenAlgorithm ?? context.accessTokenAlgorithm;
  const signed = await context.jwt.sign(claims, { type: JWT_TYPES.access_token, algorithm });
  return { token: signed.token, record: { ...record, ...(await jwtIdentity(jti, signed)) } };
}
