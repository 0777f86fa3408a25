import type { Claims } from '../protocol/claims.ts';
import { secondsOf } from '../protocol/environment.ts';
import { formatScope } from '../protocol/scope.ts';
import { besideToken } from './application_claims.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES, PLAIN_JWT_TYPE } from './jwt_types.ts';
import {
  jwtIdentity,
  type MintedAccessToken,
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
): Promise<MintedAccessToken> {
  const { client, scopes } = purpose;
  const { sid: _, ...grantClaims } = purpose.claims ?? {}; // an API has no business with the session
  const userinfo = purpose.claimsRequest?.userinfo;
  const issuedAtMs = context.clock();
  const iat = secondsOf(issuedAtMs);
  const exp = iat + (purpose.lifetime ?? context.lifetimes.accessToken);
  const jti = newTimedIdentifier(context);
  const audience = purpose.audience ?? context.defaultAudience;
  const { carried, beside } = (await applicationClaims(context, purpose, audience)) ?? {};
  const claims: Claims = {
    ...carried,
    iss: context.issuer,
    sub: purpose.person?.sub ?? client.id,
    aud: audience,
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
  const kept = besideToken(beside);
  if ((purpose.format ?? client.accessTokenFormat ?? context.accessTokenFormat) === 'opaque') {
    const token = newOpaque('access_token', context.random);
    return {
      token,
      audience,
      record: { ...record, ...(await opaqueIdentity(token)), claims: { ...claims, ...kept } },
    };
  }
  const algorithm = client.accessTokenAlgorithm ?? context.accessTokenAlgorithm;
  const signed = await context.jwt.sign(claims, { type: typeFor(context, audience), algorithm });
  return {
    token: signed.token,
    audience,
    record: { ...record, ...(await jwtIdentity(jti, signed)), ...(beside !== undefined && { claims: kept }) },
  };
}

/** A token for several APIs is one by RFC 9068 for all of them. */
function typeFor({ apisWithPlainJwts }: TokenContext, audience: string | readonly string[]): string {
  const [only, ...others] = [audience].flat();
  const isPlain = only !== undefined && others.length === 0 && apisWithPlainJwts.includes(only);
  return isPlain ? PLAIN_JWT_TYPE : JWT_TYPES.access_token;
}

/** @returns `undefined` if the application adds no claims */
function applicationClaims(
  { applicationClaims: declared }: TokenContext,
  { client, person, scopes, grantId, sessionId }: TokenPurpose,
  audience: string | readonly string[],
) {
  const clientId = client.id;
  return declared?.ofAccessToken({
    ...{ clientId, subject: person?.subject, scopes, audience: [audience].flat(), grantId, sessionId },
  });
}
