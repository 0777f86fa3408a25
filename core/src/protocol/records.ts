// Records that storage keeps: readonly plain data. Seconds and milliseconds count from 1970-01-01T00:00:00Z.
import type { JWK } from 'jose';
import { type InactiveReason, OAuthError } from '../http/errors.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import type { AuthorizationDetails } from './authorization_details.ts';
import type { Claims, ClaimsRequest, Confirmation } from './claims.ts';
import type { ClientMetadata } from './client_members.ts';
import type { GrantType, SigningAlgorithm, TokenFormat } from './client_metadata.ts';

/** A client secret as stored. */
export interface ClientSecretRecord {
  /** HMAC-SHA-256 (base64url) of the secret under a key derived from the server's secret. */
  readonly hash: string;
  /**
   * The secret, encrypted under another key derived from the same server secret. Only of clients that sign assertions
   * with it (`client_secret_jwt`).
   */
  readonly sealed?: string;
  /** Fingerprint of that server secret. Without it, all server secrets are tried. */
  readonly serverSecret?: string;
  readonly createdAtMs?: number;
  /** Seconds since 1970 at which the secret stops working. Absent: never. */
  readonly expiresAt?: number;
  /** Updated at most once an hour. */
  readonly lastUsedAtMs?: number;
}

export interface ClientRecord {
  readonly id: string;
  /** Shown to users. */
  readonly name?: string;
  /** Newest first. A client is public only if its metadata names the method `none`, not because it has no secrets. */
  readonly secrets?: readonly ClientSecretRecord[];
  readonly grantTypes: readonly GrantType[];
  /** Scopes that the client may obtain. */
  readonly scopes: readonly string[];
  readonly redirectUris: readonly string[];
  /** URI of the API that this client is. Makes the client a resource server (RFC 8707). */
  readonly resource?: string;
  /** Whether a confidential client's refresh tokens rotate. Default: `true`. */
  readonly rotateRefreshTokens?: boolean;
  /** Overrides the server's option. */
  readonly accessTokenFormat?: TokenFormat;
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /** Metadata without a field of its own (RFC 7591 §2). */
  readonly metadata?: ClientMetadata;
  /**
   * SHA-256 (base64url) of the registration access token (RFC 7592 §3). Absent if the client did not register itself.
   */
  readonly registrationTokenDigest?: string;
  /**
   * Seconds since 1970 of the self-registration (`client_id_issued_at`, RFC 7591 §3.2.1). Absent for an operator's
   * client.
   */
  readonly registeredAt?: number;
  /**
   * Seconds since 1970 until which a client that registered itself is in use: its tokens live, or it asked for some.
   * Absent before the first use. Set by `noteUse`.
   */
  readonly usedUntil?: number;
  /** Raised by every mass revocation and disabling. Tokens that copied a lower number are inactive. */
  readonly generation?: number;
  /** Raised by every change of the record, including its secrets. */
  readonly revision?: number;
  /** Raised by changes of the metadata, but not by the use or rotation of a secret. */
  readonly registrationRevision?: number;
  readonly disabledAtMs?: number;
}

/** Whether the client knows users by an identifier that other sectors do not have (OpenID Connect Core §8). */
export function hasPairwiseSubjects({ metadata }: Pick<ClientRecord, 'metadata'>): boolean {
  return metadata?.subject_type === 'pairwise';
}

/** An API: an enabled client with a `resource`. Several clients can be the same API. */
export interface ApiRecord {
  readonly clientId: string;
  readonly resource: string;
  /** Scopes that the API declares (`api_scopes`). */
  readonly scopes: readonly string[];
}

/**
 * Whether the client registered itself, so that only its own word says who it is. After an error or a logout, the
 * browser must not go to it without a question, or the server would redirect users to any site (RFC 9700 §4.11.2).
 * See ADR 19.
 */
export function isUnchecked({ registeredAt }: Pick<ClientRecord, 'registeredAt'>): boolean {
  return registeredAt !== undefined;
}

/** What tokens depend on in addition to their own row. Each has a generation number (ADR 8). */
export const PRINCIPALS = ['client', 'subject', 'session', 'grant'] as const;
export type Principal = (typeof PRINCIPALS)[number];

/** The state of a principal, compared with what the token copied from it. */
export interface Standing {
  /** The generation when the token was issued. */
  readonly copied: number;
  /** The generation now. */
  readonly current: number;
  /** Milliseconds since 1970 at which `current` was last raised. */
  readonly raisedAtMs?: number;
  /** Milliseconds since 1970. Absent unless the principal is disabled. */
  readonly disabledAtMs?: number;
}

export type TokenKind = 'access_token' | 'refresh_token';

export function isTokenKind(kind: unknown): kind is TokenKind {
  return kind === 'access_token' || kind === 'refresh_token';
}

/**
 * One issued token. A pair is a refresh token with the access tokens that were issued with it. A family is all
 * successors of one refresh token. A grant is what one authorization by a user led to; pairs and families belong to one
 * grant.
 */
export interface TokenRecord {
  /** `jti` of a JWT, or the SHA-256 digest (base64url) of an opaque token. */
  readonly id: string;
  readonly kind: TokenKind;
  /** SHA-256 (base64url) of the token as issued. A record without one is accepted by `id` alone. */
  readonly digest?: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** `token_type` of the token response: `DPoP` if it is bound to a key, otherwise `Bearer`. Absent for refresh tokens. */
  readonly tokenType?: string;
  /** What the token is bound to. Absent for bearer tokens. */
  readonly confirmation?: Confirmation;
  /** The server's identifier of the user. Absent if the client acts for itself. */
  readonly subject?: string;
  /** Claims as issued. Can be absent for a JWT access token, which contains them itself. */
  readonly claims?: Claims;
  /** Claims that the authorization request asked for with `claims` (OpenID Connect Core §5.5). */
  readonly claimsRequest?: ClaimsRequest;
  /** For refresh tokens: resources that the grant's access tokens may be for (RFC 8707 §2.2). */
  readonly resources?: readonly string[];
  /** For refresh tokens: details that the grant's access tokens may have (RFC 9396 §6). */
  readonly authorizationDetails?: AuthorizationDetails;
  /** Milliseconds since 1970. */
  readonly issuedAtMs: number;
  /** Seconds since 1970; equal to the `exp` claim. Zero means revoked. */
  readonly expiresAt: number;
  /** `kid` of the signing key. */
  readonly keyId?: string;
  readonly pairId?: string;
  readonly familyId?: string;
  readonly grantId?: string;
  readonly sessionId?: string;
  /** For refresh tokens: milliseconds since 1970 of the rotation. */
  readonly supersededAtMs?: number;
  /** For refresh tokens: `id` of the successor. */
  readonly successorId?: string;
  readonly revokedAtMs?: number;
  /** Milliseconds since 1970. Tokens that were issued earlier are inactive. */
  readonly notBeforeMs?: number;
  readonly standing?: Partial<Readonly<Record<Principal, Standing>>>;
}

/** A token to be stored. Tokens with the same `pairId` or `familyId` must belong to the same grant. */
export type NewToken = Omit<
  TokenRecord,
  'supersededAtMs' | 'successorId' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
> & {
  readonly digest: string;
  /** Seconds since 1970 until which the row is kept; at least `expiresAt`. */
  readonly keepUntil: number;
};

/** Member of a record's claims with application claims that were fixed at issuance but are not in the token. */
export const RECORD_ONLY = '_application';

/** Returns the member for these claims, or none if there are none. */
export function recordOnlyMember(recordOnly: Claims): Claims {
  return Object.keys(recordOnly).length === 0 ? {} : { [RECORD_ONLY]: recordOnly };
}

export function recordOnlyClaims({ claims }: Pick<TokenRecord, 'claims'>): Claims {
  const recordOnly = claims?.[RECORD_ONLY];
  return isJsonObject(recordOnly) ? recordOnly : {};
}

/** Returns the claims that are in the token. */
export function claimsInToken({ claims }: Pick<TokenRecord, 'claims'>): Claims | undefined {
  if (claims === undefined || claims[RECORD_ONLY] === undefined) return claims;
  const { [RECORD_ONLY]: _, ...inToken } = claims;
  return inToken;
}

/** An authorization code that waits to be redeemed. */
export interface AuthorizationCodeRecord {
  /** SHA-256 digest (base64url) of the code. */
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Whether the authorization request contained `redirect_uri` (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly codeChallenge?: string;
  /** What the code is bound to (`dpop_jkt`, RFC 9449 §10). */
  readonly confirmation?: Confirmation;
  readonly scopes: readonly string[];
  readonly subject: string;
  readonly grantId: string;
  readonly sessionId?: string;
  readonly nonce?: string;
  /**
   * Claims for the grant's tokens: the client's `sub` of the user, `username`, `auth_time`, `acr`, `amr`, `sid`. And
   * `cnf`, which repeats `confirmation`.
   */
  readonly claims: Claims & { readonly sub: string };
  readonly claimsRequest?: ClaimsRequest;
  /** Resources that access tokens may be for (RFC 8707 §2.1). */
  readonly resources?: readonly string[];
  /** Details that access tokens may have, as granted (RFC 9396 §7.1). */
  readonly authorizationDetails?: AuthorizationDetails;
  readonly issuedAtMs: number;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  readonly redeemedAtMs?: number;
  readonly revokedAtMs?: number;
  readonly notBeforeMs?: number;
  readonly standing?: Partial<Readonly<Record<Principal, Standing>>>;
}

export type NewAuthorizationCode = Omit<
  AuthorizationCodeRecord,
  'redeemedAtMs' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
>;

/** What one authorization by a user led to. Exists as long as it has live tokens. */
export interface GrantRecord {
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The session that ends the grant when it ends. */
  readonly sessionId?: string;
  readonly createdAtMs: number;
}

export interface KeyRecord {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  /** A `next` key is published but does not sign yet. A `retired` key only verifies. */
  readonly status: 'next' | 'current' | 'retired';
  readonly publicJwk: JWK;
  /** The private key, encrypted under a key derived from the server's secret. */
  readonly sealedPrivateKey: string;
  readonly createdAtMs: number;
  readonly retiredAtMs?: number;
}

/** A day in seconds. Retired keys stay published at least this long, because ID tokens have no records. */
export const LONGEST_ID_TOKEN_LIFETIME = 24 * 60 * 60;

/** Where a change comes from, for the audit trail. */
export interface EventOrigin {
  /** Who acts: a name from the host. If it is absent, the client or the host itself acts. */
  readonly actor?: string;
  /** The IP address that the request came from. */
  readonly address?: string;
  readonly requestId?: string;
}

/** A change of state, written in the same transaction; or an act that was recorded by itself. */
export interface EventRecord extends EventOrigin {
  /** Increases with every event of an issuer. */
  readonly sequence: number;
  readonly atMs: number;
  readonly type: EventType;
  /** `id` of the token, code or principal. `token_issued` has the ids of all its tokens, separated by spaces. */
  readonly target: string;
  /** The client that the change is about or that asked for it. */
  readonly clientId?: string;
  /** The user that the change is about. */
  readonly subject?: string;
  /** Why or how, as a code. */
  readonly reason?: string;
}

/** What an event is about. */
export interface EventFacts extends Pick<EventRecord, 'target'> {
  readonly clientId?: string | undefined;
  readonly subject?: string | undefined;
  readonly reason?: string | undefined;
}

/** An administrative act, for the audit trail. Tokens do not depend on it. */
export interface Act extends EventFacts {
  readonly type: ActType;
  readonly actor: string;
}

const ACT_TYPES = [
  'client_added',
  'client_changed',
  'client_secret_rotated',
  'client_removed',
  'server_secret_rotated',
  'server_secret_dropped',
  'key_rotated',
  'person_added',
  'person_changed',
  'person_password_set',
  'person_removed',
  'person_linked',
  'person_unlinked',
  'people_imported',
  'group_added',
  'group_changed',
  'group_removed',
  'group_member_added',
  'group_member_removed',
  'person_factor_added',
  'person_factor_removed',
  'person_factors_reset',
  'person_factors_confirmed',
  'person_unlocked',
  'person_recovery_codes_made',
  'person_recovery_code_used',
  'scope_texts_changed',
  'signed_in',
  'sign_in_failed',
  'session_ended',
  'consent_given',
  'consent_withdrawn',
  'mailed_link_made',
  'mailed_link_used',
  'mail_retried',
  'pairwise_secret_made',
  'configuration_loaded',
  'audit_restarted',
] as const;

export type ActType = (typeof ACT_TYPES)[number];

export const EVENT_TYPES = [
  ...ACT_TYPES,
  'client_disabled',
  'client_enabled',
  'client_revoked',
  'subject_disabled',
  'subject_enabled',
  'subject_revoked',
  'session_revoked',
  'grant_revoked',
  'token_revoked',
  'family_revoked',
  'code_revoked',
  'issued_before_revoked',
  'token_issued',
  'code_issued',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Whether a token is alive. If not, why, and since when in milliseconds, if known. */
export type Life =
  | { readonly alive: true }
  | { readonly alive: false; readonly reason: InactiveReason; readonly sinceMs?: number };

export const ALIVE: Life = { alive: true };

/** The fields that decide whether a token or code is alive. */
export type LifeFacts = Pick<
  TokenRecord | AuthorizationCodeRecord,
  'issuedAtMs' | 'expiresAt' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
>;

/**
 * Checks a record and its principals. Comparisons are written so that a value that is not a number means inactive.
 * @param nowMs milliseconds since 1970
 */
export function storedLife(record: LifeFacts, nowMs: number): Life {
  const { revokedAtMs, expiresAt, notBeforeMs, issuedAtMs } = record;
  if (revokedAtMs !== undefined) return { alive: false, reason: 'revoked', sinceMs: revokedAtMs };
  if (expiresAt === 0) return { alive: false, reason: 'revoked' };
  for (const principal of PRINCIPALS) {
    const standing = record.standing?.[principal];
    if (standing === undefined) continue;
    const { disabledAtMs, raisedAtMs } = standing;
    if (disabledAtMs !== undefined) {
      const canBeDisabled = principal === 'client' || principal === 'subject';
      const reason = canBeDisabled ? (`${principal}_disabled` as const) : (`${principal}_revoked` as const);
      return { alive: false, reason, sinceMs: disabledAtMs };
    }
    // The sweep removes a principal's row after its last token has expired. Nothing was revoked then.
    if (raisedAtMs === undefined && isOver(expiresAt, nowMs)) continue;
    if (isBehind(standing)) return { alive: false, reason: `${principal}_revoked`, ...since(raisedAtMs) };
  }
  if (notBeforeMs !== undefined && !(issuedAtMs >= notBeforeMs)) {
    return { alive: false, reason: 'issued_before_cutoff', sinceMs: notBeforeMs };
  }
  if (!Number.isFinite(expiresAt)) return { alive: false, reason: 'expiry_unreadable' };
  if (isOver(expiresAt, nowMs)) return { alive: false, reason: 'expired', sinceMs: expiresAt * 1000 };
  return ALIVE;
}

/** @param expiresAt seconds */
function isOver(expiresAt: number, nowMs: number): boolean {
  return Number.isFinite(expiresAt) && nowMs >= expiresAt * 1000;
}

function isBehind({ copied, current }: Standing): boolean {
  return !(copied >= current);
}

function since(sinceMs: number | undefined) {
  return sinceMs === undefined ? undefined : { sinceMs };
}

/** Maximum secrets that authenticate a client at the same time. */
export const MOST_LIVE_SECRETS = 2;

/** Whether a secret authenticates its client now. An expiry that is not a number counts as past. */
export function isLiveSecret({ expiresAt }: ClientSecretRecord, nowMs: number): boolean {
  return expiresAt === undefined || nowMs < expiresAt * 1000;
}

/** How a rotation treats the previous secret. */
export interface SecretRotation {
  readonly nowMs: number;
  /** Seconds for which the previous secret still authenticates. */
  readonly overlap: number;
}

/**
 * Returns the secrets after a rotation: the new one, and the newest live one, which expires after the overlap or at its
 * own earlier expiry. Others are dropped.
 */
export function rotatedSecrets(
  secrets: readonly ClientSecretRecord[],
  added: ClientSecretRecord,
  { nowMs, overlap }: SecretRotation,
): readonly ClientSecretRecord[] {
  const replaced = secrets.find((secret) => isLiveSecret(secret, nowMs) && secret.hash !== added.hash);
  if (replaced === undefined || overlap <= 0) return [added];
  const endsAt = secondsOf(nowMs) + overlap;
  return [added, { ...replaced, expiresAt: Math.min(replaced.expiresAt ?? endsAt, endsAt) }];
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(' ');
}

/**
 * Parses a `scope` parameter into distinct scopes, in their order.
 * @throws {OAuthError} `invalid_scope`: empty, or with a character that is not allowed
 */
export function parseScope(parameter: string): readonly string[] {
  const scopes = [...new Set(parameter.split(' ').filter((scope) => scope !== ''))];
  if (scopes.length === 0 || !scopes.every(isScopeToken))
    throw refusedScope('the scope is malformed', parameter);
  return scopes;
}

/**
 * Returns the requested scopes, or the default if none were requested (RFC 6749 §3.3). A refresh narrows its access
 * token with it: `allowed` is then what remains of the grant (RFC 6749 §6).
 * @param allowed all that may be requested
 * @throws {OAuthError} `invalid_scope`: malformed, or not all allowed
 */
export function selectScopes(
  parameter: string | undefined,
  allowed: readonly string[],
  byDefault: readonly string[] = allowed,
): readonly string[] {
  if (parameter === undefined) return byDefault;
  const scopes = parseScope(parameter);
  const refused = scopes.filter((scope) => !allowed.includes(scope));
  if (refused.length > 0) throw refusedScope('a scope is not allowed', formatScope(refused));
  return scopes;
}

export function refusedScope(description: string, value: string): OAuthError {
  return new OAuthError('invalid_scope', description, { reason: 'scope_not_allowed', value });
}
