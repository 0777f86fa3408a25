// Rules of records: which tokens, codes and secrets are alive, and which claims a token contains.
import type { InactiveReason } from '../http/errors.ts';
import { isJsonObject } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import type { Claims } from './claims.ts';
import type {
  Ancestor,
  AuthorizationCodeRecord,
  ClientSecretRecord,
  GrantRecord,
  Principal,
  Standing,
  TokenKind,
  TokenRecord,
  UsableGrant,
} from './records.ts';

export const PRINCIPALS = ['client', 'subject', 'session', 'grant'] as const satisfies readonly Principal[];

export function isTokenKind(kind: unknown): kind is TokenKind {
  return kind === 'access_token' || kind === 'refresh_token';
}

/** Begins the identifier of a session to which everything belongs that is obtained by the JWTs about a subject of an issuer. */
export const ASSERTED_SESSION = 'asserted_';

/** Live tokens that stores count at most. */
export const MOST_ALIVE = 100_000;

/** `tokenType` of a row that is no token: that of a JWT of a trusted issuer. */
export const NO_TOKEN = 'N_A';

/** The application through which a client acts. @returns `undefined` if there is none, as with an assertion of another issuer */
export function applicationOf(ancestors: readonly Ancestor[]): string | undefined {
  return ancestors.find(({ clientId }) => clientId !== undefined)?.clientId;
}

/** Member of a record's claims with application claims that were fixed at issuance but are not in the token. */
export const RECORD_ONLY = '_application';

/**
 * Member of the claims of a personal access token, which its user has made. Only clients exchange it whose operator names
 * its client (ADR 194).
 */
export const PERSONAL = '_personal';

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

/** Whether a token is alive. If not, why, and since when in milliseconds, if known. */
export type Life =
  | { readonly alive: true }
  | { readonly alive: false; readonly reason: InactiveReason; readonly sinceMs?: number };

export const ALIVE: Life = { alive: true };

/** @param sinceMs absent if it is not known */
export function ended(reason: InactiveReason, sinceMs?: number): Life {
  return { alive: false, reason, ...(sinceMs !== undefined && { sinceMs }) };
}

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
  if (revokedAtMs !== undefined) return ended('revoked', revokedAtMs);
  if (expiresAt === 0) return ended('revoked');
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
    if (isBehind(standing)) return ended(`${principal}_revoked`, raisedAtMs);
  }
  if (notBeforeMs !== undefined && !(issuedAtMs >= notBeforeMs)) {
    return ended('issued_before_cutoff', notBeforeMs);
  }
  if (!Number.isFinite(expiresAt)) return ended('expiry_unreadable');
  if (isOver(expiresAt, nowMs)) return ended('expired', expiresAt * 1000);
  return ALIVE;
}

/** @param expiresAt seconds */
function isOver(expiresAt: number, nowMs: number): boolean {
  return Number.isFinite(expiresAt) && nowMs >= expiresAt * 1000;
}

function isBehind({ copied, current }: Standing): boolean {
  return !(copied >= current);
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

/** @param resources of its live tokens, in any order */
export function withResources(grant: GrantRecord, resources: readonly string[]): UsableGrant {
  return resources.length === 0 ? grant : { ...grant, resources: [...new Set(resources)].sort() };
}
