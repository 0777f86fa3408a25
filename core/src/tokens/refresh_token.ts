import { hmacSha256, sha256 } from '#crypto';
import { secondsOf } from '../environment.ts';
import type { Claims } from '../protocol/claims.ts';
import type { TokenRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/records.ts';
import {
  jwtIdentity,
  type MintedToken,
  opaqueIdentity,
  purposeOfRecord,
  type TokenPurpose,
} from './access_token.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES } from './jwt.ts';
import type { SignedJwt } from './jwt_service.ts';
import { newOpaqueBody, newTimedIdentifier, opaqueFrom, timedIdentifier } from './opaque_token.ts';

/** Deterministic, so that the same claims give the same token again (RFC 8017 §8.2). Only this server reads it. */
export const REFRESH_TOKEN_ALGORITHM = 'RS256';

/** The first refresh token of a family. */
export function mintRefreshToken(context: TokenContext, purpose: TokenPurpose): Promise<MintedToken> {
  return mintFrom(context, purpose, newOpaqueBody(context.random));
}

/**
 * The refresh token that a presented one rotates to. It is derived from the presented token, so that every
 * retry leads to the same one and nothing secret needs to be stored for it.
 */
export async function mintSuccessor(
  context: TokenContext,
  purpose: TokenPurpose,
  presented: string,
): Promise<MintedToken> {
  return mintFrom(
    context,
    purpose,
    await hmacSha256(await context.secret.key('refresh_successor'), presented),
  );
}

/**
 * The text of a successor that was stored before, again.
 * @returns `undefined` where the record is not the presented token's successor
 */
export async function recallSuccessor(
  context: TokenContext,
  successor: TokenRecord,
  presented: string,
): Promise<string | undefined> {
  for (const key of await context.secret.keys('refresh_successor')) {
    const token = await textOf(context, successor, await hmacSha256(key, presented));
    if (token !== undefined && (await sha256(token)) === successor.digest) return token;
  }
  return undefined;
}

/** Claim of a refresh token: seconds at which its family ends, however often it rotates. Successors carry it on. */
export const FAMILY_END = 'family_exp';

/** @returns `undefined` if the family has no end: it began without one, and the server sets none */
function familyEndOf(
  { lifetimes }: TokenContext,
  { familyEnd }: TokenPurpose,
  iat: number,
): number | undefined {
  if (familyEnd !== undefined || lifetimes.refreshFamily === 0) return familyEnd;
  return iat + lifetimes.refreshFamily;
}

async function mintFrom(context: TokenContext, purpose: TokenPurpose, body: string): Promise<MintedToken> {
  const { client, scopes, claimsRequest, resources } = purpose;
  const issuedAtMs = context.clock();
  const iat = secondsOf(issuedAtMs);
  const familyEnd = familyEndOf(context, purpose, iat);
  const exp = Math.min(iat + (purpose.lifetime ?? context.lifetimes.refreshToken), familyEnd ?? Infinity);
  const jti = context.useOpaqueRefreshTokens
    ? newTimedIdentifier(context)
    : timedIdentifier(issuedAtMs, body);
  const claims: Claims = {
    iss: context.issuer,
    sub: purpose.person?.sub ?? client.id,
    aud: context.issuer,
    client_id: client.id,
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...purpose.claims,
    ...(familyEnd !== undefined && { [FAMILY_END]: familyEnd }),
    iat,
    exp,
    jti,
  };
  const record = {
    ...purposeOfRecord(purpose),
    kind: 'refresh_token',
    claims,
    issuedAtMs,
    expiresAt: exp,
    keepUntil: exp,
    ...(claimsRequest !== undefined && { claimsRequest }),
    ...(resources !== undefined && { resources }),
  } as const;
  if (context.useOpaqueRefreshTokens) {
    const token = opaqueFrom('refresh_token', body);
    return { token, record: { ...record, ...(await opaqueIdentity(token)) } };
  }
  const signed = await sign(context, claims);
  return { token: signed.token, record: { ...record, ...(await jwtIdentity(jti, signed)) } };
}

/** The token with this body, in the format that the record has: a signed one names its key. */
async function textOf(context: TokenContext, record: TokenRecord, body: string): Promise<string | undefined> {
  const { keyId, claims } = record;
  if (keyId === undefined) return opaqueFrom('refresh_token', body);
  if (claims === undefined || !String(claims.jti).endsWith(body)) return undefined;
  return (await sign(context, claims, keyId)).token;
}

/** Signs the claims in an order of their own, so that a store may give them back in any (RFC 8259 §4). */
function sign(context: TokenContext, claims: Claims, keyId?: string): Promise<SignedJwt> {
  const ordered = Object.entries(claims).sort(([one], [other]) => (one < other ? -1 : 1));
  return context.jwt.sign(Object.fromEntries(ordered), {
    type: JWT_TYPES.refresh_token,
    algorithm: REFRESH_TOKEN_ALGORITHM,
    ...(keyId !== undefined && { keyId }),
  });
}
