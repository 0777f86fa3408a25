import { sha256 } from '#crypto';
import { secondsOf } from '../environment.ts';
import type { Claims, ClaimsRequest } from '../protocol/claims.ts';
import type { TokenFormat } from '../protocol/client_metadata.ts';
import { type ClientRecord, formatScope, type NewToken } from '../protocol/records.ts';
import { besideToken } from './application_claims.ts';
import type { TokenContext } from './context.ts';
import { JWT_TYPES, PLAIN_JWT_TYPE } from './jwt.ts';
import type { SignedJwt } from './jwt_service.ts';
import { newOpaque, newTimedIdentifier } from './opaque_token.ts';
import { hasPairwiseSubjects } from './subject_identifier.ts';

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

/** A token as the client gets it, and its record as storage keeps it. Minting stores nothing. */
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

/** The part of a record that says what the token is for. */
export function purposeOfRecord({
  client,
  scopes,
  person,
  pairId,
  familyId,
  grantId,
  sessionId,
}: TokenPurpose) {
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
export async function opaqueIdentity(token: string) {
  const digest = await sha256(token);
  return { id: digest, digest };
}

/** The part of a record by which a JWT is found and recognised. */
export async function jwtIdentity(jti: string, { token, keyId }: SignedJwt) {
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
