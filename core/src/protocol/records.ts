import type { JWK } from 'jose';
import { secondsOf } from '../environment.ts';
import { type InactiveReason, OAuthError } from '../http/errors.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import type { Claims, ClaimsRequest } from './claims.ts';
import type { ClientMetadata } from './client_members.ts';
import type { GrantType, SigningAlgorithm, TokenFormat } from './client_metadata.ts';

/** What storage remembers: readonly plain data. Seconds and milliseconds count from 1970-01-01T00:00:00Z. */

/** One secret of a client, as it is stored. */
export interface ClientSecretRecord {
  /** HMAC-SHA-256 (base64url) of the secret under a key derived from the server's secret. */
  readonly hash: string;
  /** Fingerprint of that server secret. Without it, every server secret is tried, as with all the others. */
  readonly serverSecret?: string;
  readonly createdAtMs?: number;
  /** Seconds. The secret no longer authenticates from then on. */
  readonly expiresAt?: number;
  /** To within an hour. */
  readonly lastUsedAtMs?: number;
}

export interface ClientRecord {
  readonly id: string;
  /** For people. */
  readonly name?: string;
  /** The newest first. A client without this member is public, unless it authenticates with keys. */
  readonly secrets?: readonly ClientSecretRecord[];
  readonly grantTypes: readonly GrantType[];
  /** Scopes that the client may obtain. */
  readonly scopes: readonly string[];
  readonly redirectUris: readonly string[];
  /** URI of the API that this client is; makes it a resource server (RFC 8707). */
  readonly resource?: string;
  /** Whether the refresh tokens of a confidential client rotate; `true` unless said otherwise. */
  readonly rotateRefreshTokens?: boolean;
  /** Instead of the server's own. */
  readonly accessTokenFormat?: TokenFormat;
  readonly accessTokenAlgorithm?: SigningAlgorithm;
  readonly idTokenAlgorithm?: SigningAlgorithm;
  /** What else was registered (RFC 7591 §2). */
  readonly metadata?: ClientMetadata;
  /** SHA-256 (base64url) of its registration access token (RFC 7592 §3); a client without one did not register itself. */
  readonly registrationTokenDigest?: string;
  /** Seconds: when it registered itself (`client_id_issued_at`, RFC 7591 §3.2.1); absent if an operator added it. */
  readonly registeredAt?: number;
  /** Raised by every mass revocation and every disabling; tokens that copied a lower one are dead. */
  readonly generation?: number;
  /** Raised by every change of its registration, its secret included. */
  readonly revision?: number;
  /** Raised by every change of what it registered. The use or rotation of a secret does not raise it. */
  readonly registrationRevision?: number;
  readonly disabledAtMs?: number;
}

/** Whether every sector of clients is told of a person under another identifier (OpenID Connect Core §8). */
export function hasPairwiseSubjects({ metadata }: Pick<ClientRecord, 'metadata'>): boolean {
  return metadata?.subject_type === 'pairwise';
}

/** An API as requests find it: an enabled client with a `resource`. Several clients can be the same API. */
export interface ApiRecord {
  readonly clientId: string;
  readonly resource: string;
  /** The scopes that it declares (`api_scopes`). */
  readonly scopes: readonly string[];
}

/**
 * Whether nobody but the client itself says who it is: it registered itself, so anyone may have. The browser is not
 * sent to it by itself with an error or after a logout, or the server would lead people to any site (RFC 9700 §4.11.2).
 */
export function isUnchecked({ registeredAt }: Pick<ClientRecord, 'registeredAt'>): boolean {
  return registeredAt !== undefined;
}

/** What a token's life depends on besides its own row; each has a generation number. */
export const PRINCIPALS = ['client', 'subject', 'session', 'grant'] as const;
export type Principal = (typeof PRINCIPALS)[number];

/** How a token stands to one of its principals. */
export interface Standing {
  /** The generation that the token copied when it was issued. */
  readonly copied: number;
  /** The principal's generation now. */
  readonly current: number;
  /** When `current` was raised last. */
  readonly raisedAtMs?: number;
  /** Set while the principal is disabled. */
  readonly disabledAtMs?: number;
}

export type TokenKind = 'access_token' | 'refresh_token';

/**
 * One issued token. A pair is a refresh token with the access tokens that came along with it; a family is
 * the line of successors of one refresh token; a grant is what one authorization by a person led to. A pair and a
 * family are each within one grant.
 */
export interface TokenRecord {
  /** `jti` of a JWT, or the SHA-256 digest (base64url) of an opaque token. */
  readonly id: string;
  readonly kind: TokenKind;
  /** SHA-256 (base64url) of the token as issued. A record without one is accepted by `id` alone. */
  readonly digest?: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** As in token responses (`Bearer`); refresh tokens have none. */
  readonly tokenType?: string;
  /** The server's own identifier of the person; absent where a client acts for itself. */
  readonly subject?: string;
  /** Claims as issued. A JWT access token may leave them to its own payload. */
  readonly claims?: Claims;
  /** Which claims the authorization request asked for besides those of its scopes (OpenID Connect Core §5.5). */
  readonly claimsRequest?: ClaimsRequest;
  /** Refresh tokens: the resources that access tokens of this grant may be for (RFC 8707 §2.2). */
  readonly resources?: readonly string[];
  /** Milliseconds. */
  readonly issuedAtMs: number;
  /** Seconds; equals the `exp` claim. Zero is a revoked token. */
  readonly expiresAt: number;
  /** `kid` of the key that signed it. */
  readonly keyId?: string;
  readonly pairId?: string;
  readonly familyId?: string;
  readonly grantId?: string;
  readonly sessionId?: string;
  /** Refresh tokens: when it was rotated. */
  readonly supersededAtMs?: number;
  /** Refresh tokens: `id` of what it was rotated to. */
  readonly successorId?: string;
  readonly revokedAtMs?: number;
  /** All tokens issued before this time (milliseconds) are dead. */
  readonly notBeforeMs?: number;
  readonly standing?: Partial<Readonly<Record<Principal, Standing>>>;
}

/** A token about to be stored. What is tied by `pairId` or `familyId` belongs to one grant. */
export type NewToken = Omit<
  TokenRecord,
  'supersededAtMs' | 'successorId' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
> & {
  readonly digest: string;
  /** Seconds until which the row is kept: never less than `expiresAt`. */
  readonly keepUntil: number;
};

/** Member of a token record's claims: application claims that are fixed at issuance, but not part of the token. */
export const BESIDE = '_application';

/** The member with the claims that a record keeps beside its token. */
export function besideToken(beside: Claims | undefined): Claims {
  return beside === undefined || Object.keys(beside).length === 0 ? {} : { [BESIDE]: beside };
}

export function besideOf({ claims }: Pick<TokenRecord, 'claims'>): Claims {
  const beside = claims?.[BESIDE];
  return isJsonObject(beside) ? beside : {};
}

/** The claims of a record that are those of its token. */
export function ownClaims({ claims }: Pick<TokenRecord, 'claims'>): Claims | undefined {
  if (claims === undefined || claims[BESIDE] === undefined) return claims;
  const { [BESIDE]: _, ...own } = claims;
  return own;
}

/** An authorization as a person gave it, waiting to be redeemed. */
export interface AuthorizationCodeRecord {
  /** SHA-256 digest (base64url) of the code. */
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Whether the authorization request named the redirect URI (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly codeChallenge?: string;
  readonly scopes: readonly string[];
  readonly subject: string;
  readonly grantId: string;
  readonly sessionId?: string;
  readonly nonce?: string;
  /** Claims that the tokens of this grant carry: `sub` as the client is told, `username`, `auth_time`, `acr`, `amr`, `sid`. */
  readonly claims: Claims;
  readonly claimsRequest?: ClaimsRequest;
  /** What access tokens may be for (RFC 8707 §2.1). */
  readonly resources?: readonly string[];
  readonly issuedAtMs: number;
  /** Seconds. */
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

/** What one authorization by a person led to, as long as it is alive. */
export interface GrantRecord {
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The session that it ends with. */
  readonly sessionId?: string;
  readonly createdAtMs: number;
}

/** An authorization request that a client left with the server (RFC 9126). */
export interface PushedRequest {
  /** SHA-256 (base64url) of the `request_uri`. */
  readonly id: string;
  readonly clientId: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Seconds. */
  readonly expiresAt: number;
}

export interface KeyRecord {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  /** `next` is published but does not sign yet; `retired` only verifies. */
  readonly status: 'next' | 'current' | 'retired';
  readonly publicJwk: JWK;
  /** The private key, encrypted under the server's secret. */
  readonly sealedPrivateKey: string;
  readonly createdAtMs: number;
  readonly retiredAtMs?: number;
}

/** Seconds. Keys that are retired stay published at least so long, since nothing tells when the last ID token ends. */
export const LONGEST_ID_TOKEN_LIFETIME = 24 * 60 * 60;

/** Something that ended the life of tokens, written in the transaction that did it; or an act that was recorded. */
export interface EventRecord {
  /** Increases with every event of an issuer. */
  readonly sequence: number;
  readonly atMs: number;
  readonly type: EventType;
  /** What it was done to: a token's or code's `id`, or a principal's. */
  readonly target: string;
  /** Who acted, if it was recorded as an act: `cli`, `registration`, or what the host calls them. */
  readonly actor?: string;
}

/** What a host records of those who administer it. Tokens do not depend on it. */
export interface Act extends Pick<EventRecord, 'target'> {
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
  'scope_texts_changed',
] as const;

type ActType = (typeof ACT_TYPES)[number];

/** Every type of event. */
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
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Alive, or why not and since when (milliseconds; absent where nobody recorded it). */
export type Life =
  | { readonly alive: true }
  | { readonly alive: false; readonly reason: InactiveReason; readonly sinceMs?: number };

export const ALIVE: Life = { alive: true };

/** What the life of tokens and codes depends on. */
export type Mortal = Pick<
  TokenRecord | AuthorizationCodeRecord,
  'issuedAtMs' | 'expiresAt' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
>;

/**
 * Whether a stored record is alive by itself, with the standing of its principals. Comparisons are written so that
 * a member which is no number counts as death.
 * @param nowMs milliseconds
 */
export function storedLife(record: Mortal, nowMs: number): Life {
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

/** A client has so many secrets at a time that authenticate it. */
export const MOST_LIVE_SECRETS = 2;

/** Whether a secret authenticates its client now. An expiry that is no number counts as past. */
export function isLiveSecret({ expiresAt }: ClientSecretRecord, nowMs: number): boolean {
  return expiresAt === undefined || nowMs < expiresAt * 1000;
}

/** What a rotation does to the secret that it replaces. */
export interface SecretRotation {
  readonly nowMs: number;
  /** Seconds for which the replaced secret still authenticates. */
  readonly overlap: number;
}

/**
 * The secrets of a client after a rotation: the new one, and the newest of the live ones, which gets an end or keeps an
 * earlier one. All others are gone.
 */
export function rotatedSecrets(
  secrets: readonly ClientSecretRecord[],
  added: ClientSecretRecord,
  { nowMs, overlap }: SecretRotation,
): readonly ClientSecretRecord[] {
  const replaced = secrets.find((one) => isLiveSecret(one, nowMs) && one.hash !== added.hash);
  if (replaced === undefined || overlap <= 0) return [added];
  const endsAt = secondsOf(nowMs) + overlap;
  return [added, { ...replaced, expiresAt: Math.min(replaced.expiresAt ?? endsAt, endsAt) }];
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(' ');
}

/**
 * The scopes of a `scope` parameter, each once, in their order.
 * @throws {OAuthError} `invalid_scope`: a character that is not allowed.
 */
export function parseScope(parameter: string): readonly string[] {
  const scopes = [...new Set(parameter.split(' ').filter((scope) => scope !== ''))];
  if (scopes.length === 0 || !scopes.every(isScopeToken))
    throw refusedScope('the scope is malformed', parameter);
  return scopes;
}

/**
 * The scopes asked for, all of them within those that are allowed; the default where nothing was asked (RFC 6749 §3.3).
 * @throws {OAuthError} `invalid_scope`: malformed, wider than allowed, or empty.
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
