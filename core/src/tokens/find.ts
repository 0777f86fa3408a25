import { sha256 } from '#hashing';
import type { Claims } from '../protocol/claims.ts';
import { secondsOf } from '../protocol/environment.ts';
import { equalInConstantTime } from '../protocol/hashing/constant_time.ts';
import type { InactiveReason } from '../protocol/reasons.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { ownClaims } from './application_claims.ts';
import type { TokenContext } from './context.ts';
import { inOwnTerms } from './former_jwts.ts';
import { type JwtType, jwtTypeOf } from './jwt_types.ts';
import { opaqueKindOf } from './opaque_token.ts';
import { subjectIdentifier } from './subject_identifier.ts';

/** A token with its record and its verified claims; it may still be dead. */
export interface FoundToken {
  readonly record: TokenRecord;
  readonly claims: Claims;
  /** Whether its `typ` is `JWT`: it is for one API alone (`apisWithPlainJwts`). */
  readonly isPlainJwt?: boolean;
}

/** Or why there is none; `kind` and `claims` where the signature has verified. */
export interface NoToken {
  readonly reason: InactiveReason;
  readonly kind?: TokenKind;
  readonly claims?: Claims;
  /** What it is, if it is another JWT of this server. */
  readonly type?: JwtType;
  readonly isPlainJwt?: boolean;
}

/** RFC 7515 §7.1. */
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Finds a token by what it is itself: the kind comes from the `typ` header of a JWT whose signature has
 * verified, or from an opaque token's prefix; so no hint is needed, and one look-up is enough.
 */
export function findToken(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  return token.includes('.') ? findJwt(context, token) : findOpaque(context, token);
}

async function findJwt(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const jwt = await context.jwt.verify(token);
  if (!jwt.verified) {
    if (!COMPACT_JWS.test(token)) return { reason: 'malformed' };
    return (await findFormer(context, token)) ?? { reason: jwt.reason };
  }
  const { claims } = jwt;
  const type = jwtTypeOf(jwt.type);
  const isPlainJwt = type === 'id_token' && claims.jti !== undefined;
  const kind = isPlainJwt ? 'access_token' : kindOfType(jwt.type);
  if (kind === undefined || typeof claims.jti !== 'string')
    return { reason: 'wrong_type', claims, ...(type !== undefined && { type }) };
  if (claims.iss !== context.issuer) return { reason: 'wrong_issuer', kind, claims };
  const record = await lookUp(context, kind, claims.jti);
  const plain = isPlainJwt && { isPlainJwt };
  if (record === undefined) return { reason: 'no_record', kind, claims, ...plain };
  // Only the digest tells a plain JWT from others that the key has signed.
  const isIssued =
    (!isPlainJwt || record.digest !== undefined) && isAsIssued(record, jwt.digest ?? (await sha256(token)));
  if (!isIssued) return { reason: 'differs_from_issued', kind, claims, ...plain };
  return { record, claims, ...plain };
}

/** @returns `undefined` where the token names no key of a former server, or there was none */
async function findFormer(
  { formerTokens, issuer }: TokenContext,
  token: string,
): Promise<FoundToken | NoToken | undefined> {
  if (formerTokens === undefined) return undefined;
  const jwt = await formerTokens.jwts.verify(token);
  if (jwt === undefined || 'reason' in jwt) return jwt;
  const record = await formerTokens.find(jwt.kind, jwt.id);
  if (record === undefined) return { reason: 'no_record', kind: jwt.kind, claims: jwt.claims };
  return inOwnTerms(issuer, jwt, record);
}

async function findOpaque(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const kind = opaqueKindOf(token);
  if (kind !== 'access_token' && kind !== 'refresh_token') return { reason: 'malformed' };
  const record = await lookUp(context, kind, await sha256(token));
  if (record === undefined) return { reason: 'no_record', kind };
  return { record, claims: { ...(await claimsOfRecord(context, record)), ...ownClaims(record) } };
}

function lookUp({ storage }: TokenContext, kind: TokenKind, id: string): Awaitable<TokenRecord | undefined> {
  return kind === 'access_token' ? storage.tokens.getByAccessToken(id) : storage.tokens.getByRefreshToken(id);
}

/** A stolen signing key makes a JWT verify, but not be the one that was issued. */
function isAsIssued({ digest }: TokenRecord, digestOfToken: string): boolean {
  return digest === undefined || equalInConstantTime(digest, digestOfToken);
}

function kindOfType(type: string | undefined): TokenKind | undefined {
  const known = jwtTypeOf(type);
  return known === 'access_token' || known === 'refresh_token' ? known : undefined;
}

/** What a record says by itself, for a host that keeps no claims of its opaque tokens. */
async function claimsOfRecord(context: TokenContext, record: TokenRecord): Promise<Claims> {
  const { expiresAt, issuedAtMs } = record;
  return {
    iss: context.issuer,
    sub: record.claims?.sub ?? (await toldSubject(context, record)),
    exp: expiresAt,
    // A host that brings its own records may not have kept it.
    ...(Number.isFinite(issuedAtMs) && { iat: secondsOf(issuedAtMs) }),
  };
}

/** `sub` of a record that keeps none; `undefined` where its client is gone, and with it what it was told. */
async function toldSubject(
  context: TokenContext,
  { subject, clientId }: TokenRecord,
): Promise<string | undefined> {
  if (subject === undefined) return clientId;
  if (context.pairwiseSecret === undefined) return subject;
  const client = await context.storage.clients.get(clientId);
  return client && subjectIdentifier(context, client, subject);
}
