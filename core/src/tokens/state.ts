import type { Claims } from '../protocol/claims.ts';
import type { InactiveReason } from '../protocol/reasons.ts';
import {
  type AuthorizationCodeRecord,
  PRINCIPALS,
  type Principal,
  type TokenRecord,
} from '../protocol/records.ts';
import type { TokenContext } from './context.ts';

/** Alive, or why not and since when (milliseconds; absent where nobody recorded it). */
export type Life =
  | { readonly alive: true }
  | { readonly alive: false; readonly reason: InactiveReason; readonly sinceMs?: number };

const ALIVE: Life = { alive: true };

/**
 * Whether a token is alive: its record exists, its stored expiry is in the future, and it is not revoked.
 * The only function that decides it; introspection, UserInfo and refresh all ask here.
 * `superseded` is the last reason that is looked at: a token that is dead for it is dead for no other.
 */
export async function lifeOf(context: TokenContext, record: TokenRecord, claims: Claims): Promise<Life> {
  const stored = storedLife(record, context.clock());
  if (!stored.alive) return stored;
  if (await isRevokedByStore(context, record)) return { alive: false, reason: 'revoked' };
  if (typeof claims.nbf === 'number' && claims.nbf * 1000 > context.clock()) {
    return { alive: false, reason: 'not_yet_valid' };
  }
  const subject = await subjectLife(context, record.subject);
  if (!subject.alive) return subject;
  if (record.supersededAtMs !== undefined) {
    return { alive: false, reason: 'superseded', sinceMs: record.supersededAtMs };
  }
  return ALIVE;
}

/** What a stored row says by itself, with the standing of its principals. */
export function storedLife(record: TokenRecord | AuthorizationCodeRecord, nowMs: number): Life {
  if (record.revokedAtMs !== undefined)
    return { alive: false, reason: 'revoked', sinceMs: record.revokedAtMs };
  if (record.expiresAt === 0) return { alive: false, reason: 'revoked' };
  for (const principal of PRINCIPALS) {
    const standing = principalLife(record, principal);
    if (!standing.alive) return standing;
  }
  if (record.notBeforeMs !== undefined && record.issuedAtMs < record.notBeforeMs) {
    return { alive: false, reason: 'issued_before_cutoff', sinceMs: record.notBeforeMs };
  }
  // Asked this way round, a record whose expiry is no number is dead.
  if (nowMs < record.expiresAt * 1000) return ALIVE;
  return { alive: false, reason: 'expired', sinceMs: record.expiresAt * 1000 };
}

/** Whether the host still knows the person and lets them in. */
export async function subjectLife(context: TokenContext, subject: string | undefined): Promise<Life> {
  if (subject === undefined || context.getSubjectState === undefined) return ALIVE;
  const state = await context.getSubjectState(subject);
  return state === 'active' ? ALIVE : { alive: false, reason: 'subject_disabled' };
}

function isRevokedByStore({ storage }: TokenContext, record: TokenRecord): boolean | Promise<boolean> {
  if (record.kind === 'refresh_token') return storage.tokens.isRefreshTokenRevoked(record);
  return storage.tokens.isAccessTokenRevoked?.(record) ?? false;
}

function principalLife(record: TokenRecord | AuthorizationCodeRecord, principal: Principal): Life {
  const standing = record.standing?.[principal];
  if (standing === undefined) return ALIVE;
  if (standing.disabledAtMs !== undefined && (principal === 'client' || principal === 'subject')) {
    return { alive: false, reason: `${principal}_disabled`, sinceMs: standing.disabledAtMs };
  }
  if (standing.copied >= standing.current) return ALIVE;
  return {
    alive: false,
    reason: `${principal}_revoked`,
    ...(standing.raisedAtMs !== undefined && { sinceMs: standing.raisedAtMs }),
  };
}
