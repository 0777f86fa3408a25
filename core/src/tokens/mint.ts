// Mints the tokens that the server issues: access and refresh tokens with their records, ID tokens and logout tokens
// without. Minting stores nothing.
import { base64url } from 'jose';
import { hmacSha256, sha256 } from '#crypto';
import { secondsOf } from '../environment.ts';
import {
  type Claims,
  type ClaimsRequest,
  permittedClaims,
  permittedNames,
  permittedRequests,
  requestedClaims,
} from '../protocol/claims.ts';
import type { SigningAlgorithm, TokenFormat } from '../protocol/client_metadata.ts';
import {
  besideToken,
  type ClientRecord,
  formatScope,
  hasPairwiseSubjects,
  type NewToken,
  type TokenRecord,
} from '../protocol/records.ts';
import type { OidcContext, TokenContext } from './context.ts';
import { JWT_TYPES, PLAIN_JWT_TYPE } from './jwt.ts';
import type { SignedJwt } from './jwt_service.ts';
import {
  newIdentifier,
  newOpaque,
  newOpaqueBody,
  newTimedIdentifier,
  opaqueFrom,
  timedIdentifier,
} from './opaque_token.ts';

// ── Access tokens ────────────────────────────────────────────────────────────────────────────────────────────────

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

/** A token as the client gets it, and its record as storage keeps it. */
export interface MintedToken {
  readonly token: string;
  readonly record: NewToken;
}

export interface MintedAccessToken extends MintedToken {
  /** `aud` of the token. */
  readonly audience: string | readonly string[];
}

/** Whom a token is about. */
export interface Person {
  /** The server's own identifier. */
  readonly subject: string;
  /** The identifier that the client is told. */
  readonly sub: string;
}

/** What a token is for. */
export interface TokenPurpose {
  readonly client: ClientRecord;
  readonly scopes: readonly string[];
  /** Absent where the client acts for itself. */
  readonly person?: Person;
  /** Claims besides the token's own: `username`, `auth_time`, `acr`, `amr`, `sid`. */
  readonly claims?: Claims;
  /** What the authorization request asked for claim by claim. */
  readonly claimsRequest?: ClaimsRequest;
  /** `aud` of an access token; instead of the server's own. */
  readonly audience?: string | readonly string[];
  /** What access tokens of the grant may be for; a refresh token remembers it. */
  readonly resources?: readonly string[];
  readonly pairId?: string;
  readonly familyId?: string;
  /** Seconds at which the family of a refresh token ends; absent if it begins with this token. */
  readonly familyEnd?: number;
  readonly grantId?: string;
  readonly sessionId?: string;
  /** Seconds; instead of the server's own. */
  readonly lifetime?: number;
  /** Instead of the client's or the server's own. */
  readonly format?: TokenFormat;
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

/** The part of a record that says what the token is for. */
function purposeOfRecord({ client, scopes, person, pairId, familyId, grantId, sessionId }: TokenPurpose) {
  return {
    clientId: client.id,
    scopes,
    ...(person !== undefined && { subject: person.subject }),
    ...(pairId !== undefined && { pairId }),
    ...(familyId !== undefined && { familyId }),
    ...(grantId !== undefined && { grantId }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

/** The part of a record by which an opaque token is found and recognised. */
async function opaqueIdentity(token: string) {
  const digest = await sha256(token);
  return { id: digest, digest };
}

/** The part of a record by which a JWT is found and recognised. */
async function jwtIdentity(jti: string, { token, keyId }: SignedJwt) {
  return { id: jti, digest: await sha256(token), keyId };
}

const GRANT_CLAIMS = ['username', 'auth_time', 'acr', 'amr', 'sid'] as const;

/**
 * Claims that go from an approval, a code or a refresh token to the tokens that it leads to. A name that people know
 * would undo pairwise subjects.
 */
export function grantClaimsOf(client: ClientRecord, claims: Claims): Claims {
  const names = GRANT_CLAIMS.filter((name) => name !== 'username' || !hasPairwiseSubjects(client));
  return Object.fromEntries(
    names.filter((name) => claims[name] !== undefined).map((name) => [name, claims[name]]),
  );
}

// ── Refresh tokens ───────────────────────────────────────────────────────────────────────────────────────────────

/** Deterministic, so that the same claims give the same token again (RFC 8017 §8.2). Only this server reads it. */
export const REFRESH_TOKEN_ALGORITHM = 'RS256';

/** The first refresh token of a family. */
export function mintRefreshToken(context: TokenContext, purpose: TokenPurpose): Promise<MintedToken> {
  return mintRefresh(context, purpose, newOpaqueBody(context.random));
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
  return mintRefresh(
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

async function mintRefresh(context: TokenContext, purpose: TokenPurpose, body: string): Promise<MintedToken> {
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
  const signed = await signRefresh(context, claims);
  return { token: signed.token, record: { ...record, ...(await jwtIdentity(jti, signed)) } };
}

/** The token with this body, in the format that the record has: a signed one names its key. */
async function textOf(context: TokenContext, record: TokenRecord, body: string): Promise<string | undefined> {
  const { keyId, claims } = record;
  if (keyId === undefined) return opaqueFrom('refresh_token', body);
  if (claims === undefined || !String(claims.jti).endsWith(body)) return undefined;
  return (await signRefresh(context, claims, keyId)).token;
}

/** Signs the claims in an order of their own, so that a store may give them back in any (RFC 8259 §4). */
function signRefresh(context: TokenContext, claims: Claims, keyId?: string): Promise<SignedJwt> {
  const ordered = Object.entries(claims).sort(([one], [other]) => (one < other ? -1 : 1));
  return context.jwt.sign(Object.fromEntries(ordered), {
    type: JWT_TYPES.refresh_token,
    algorithm: REFRESH_TOKEN_ALGORITHM,
    ...(keyId !== undefined && { keyId }),
  });
}

// ── ID tokens and logout tokens ──────────────────────────────────────────────────────────────────────────────────

/**
 * The ID token beside an access token that was granted `openid` (OpenID Connect Core §3.1.3.3, §12.2), with the claims
 * that the authorization request wants in it, as far as the access token's scopes permit them, and the application's.
 * @returns `undefined` where none is due
 */
export async function mintIdTokenBeside(
  context: TokenContext,
  occasion: IdTokenOccasion,
): Promise<string | undefined> {
  const { oidc } = context;
  const { client, person, access, claims, nonce } = occasion;
  const { clientId, subject, scopes, grantId, sessionId } = access.record;
  if (oidc === undefined || person === undefined || !scopes.includes('openid')) return undefined;
  const wanted = await wantedClaims(oidc, person, occasion);
  const added = await context.applicationClaims?.ofIdToken({
    ...{ clientId, subject, scopes, audience: [access.audience].flat(), grantId, sessionId },
  });
  return mintIdToken(context, {
    client,
    sub: person.sub,
    accessToken: access.token,
    claims,
    attributes: { ...wanted, ...added },
    ...(nonce !== undefined && { nonce }),
  });
}

/** What an ID token comes along with. */
interface IdTokenOccasion {
  readonly client: ClientRecord;
  /** Absent where the client acts for itself. */
  readonly person: Person | undefined;
  readonly access: MintedAccessToken;
  /** Of the grant. */
  readonly claims: Claims;
  readonly claimsRequest: ClaimsRequest | undefined;
  readonly nonce?: string;
}

/** Claims that speak of the token and the sign-in (OpenID Connect Core §2, RFC 7519 §4.1): the server alone says them. */
const PROTOCOL_CLAIMS: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'],
  ...['auth_time', 'nonce', 'acr', 'amr', 'azp', 'at_hash', 'c_hash', 's_hash', 'sid', 'events', 'cnf'],
]);

/** The attributes of the person that the client is registered for, or asked for claim by claim (OpenID Connect Core §5.5). */
async function wantedClaims(
  { getUserClaims, claimsByScope }: OidcContext,
  { subject }: Person,
  { client, access, claimsRequest }: IdTokenOccasion,
): Promise<Claims> {
  const isRegistered = client.metadata?.id_token_user_claims === true;
  const requests = claimsRequest?.id_token;
  if (!isRegistered && requests === undefined) return {};
  const { scopes } = access.record;
  const wanted = permittedRequests(requests, permittedNames(scopes, claimsByScope, PROTOCOL_CLAIMS));
  if (!isRegistered && Object.keys(wanted).length === 0) return {};
  const attributes = (await getUserClaims(subject)) ?? {};
  return {
    ...(isRegistered && permittedClaims(attributes, scopes, claimsByScope, PROTOCOL_CLAIMS)),
    ...requestedClaims(attributes, wanted),
  };
}

/** What an ID token says besides its issuer and times (OpenID Connect Core §2). */
interface IdTokenContent {
  readonly client: ClientRecord;
  /** The identifier of the person that the client is told. */
  readonly sub: string;
  readonly accessToken: string;
  readonly nonce?: string;
  /** `auth_time`, `acr`, `amr` and `sid` are taken from them. */
  readonly claims: Claims;
  /** What the client asked for about the person; none of `PROTOCOL_CLAIMS`. */
  readonly attributes?: Claims;
}

/** An ID token. It has no record, since nothing accepts it as a token. */
async function mintIdToken(context: TokenContext, content: IdTokenContent): Promise<string> {
  const { client, nonce, attributes } = content;
  const { auth_time, acr, amr, sid } = content.claims;
  const iat = secondsOf(context.clock());
  const algorithm = idTokenAlgorithmOf(context, client);
  const claims: Claims = {
    ...attributes,
    iss: context.issuer,
    sub: content.sub,
    aud: client.id,
    iat,
    exp: iat + context.lifetimes.idToken,
    at_hash: await leftHalfHash(content.accessToken, algorithm),
    ...(auth_time !== undefined && { auth_time }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
    ...(nonce !== undefined && { nonce }),
    ...(sid !== undefined && { sid }),
  };
  return (await context.jwt.sign(claims, { type: JWT_TYPES.id_token, algorithm })).token;
}

/** What the ID tokens of a client are signed with, and with them its logout tokens. */
function idTokenAlgorithmOf(context: TokenContext, client: ClientRecord): SigningAlgorithm {
  return client.idTokenAlgorithm ?? context.idTokenAlgorithm;
}

/** `at_hash` (OpenID Connect Core §3.1.3.6), by the hash of the signing algorithm; Ed25519's is SHA-512. */
async function leftHalfHash(token: string, algorithm: SigningAlgorithm): Promise<string> {
  const hash = algorithm === 'EdDSA' ? 'SHA-512' : 'SHA-256';
  const digest = new Uint8Array(await crypto.subtle.digest(hash, new TextEncoder().encode(token)));
  return base64url.encode(digest.subarray(0, digest.length / 2));
}

/** Seconds: what is captured on the way is soon of no use (Back-Channel Logout §4). */
const LOGOUT_TOKEN_LIFETIME = 120;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token (Back-Channel Logout §2.4): tells a client that a session has ended, in the names that it knows. */
export async function mintLogoutToken(
  context: TokenContext,
  client: ClientRecord,
  { sub, sid }: { readonly sub?: string | undefined; readonly sid: string },
): Promise<string> {
  const iat = secondsOf(context.clock());
  const claims = {
    iss: context.issuer,
    ...(sub !== undefined && { sub }),
    aud: client.id,
    iat,
    exp: iat + LOGOUT_TOKEN_LIFETIME,
    jti: newIdentifier(context.random),
    sid,
    events: { [LOGOUT_EVENT]: {} },
  };
  const algorithm = idTokenAlgorithmOf(context, client);
  return (await context.jwt.sign(claims, { type: JWT_TYPES.logout_token, algorithm })).token;
}
