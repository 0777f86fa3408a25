import type { InactiveReason } from './reasons.ts';
import { type AuthorizationCodeRecord, PRINCIPALS, type Standing, type TokenRecord } from './records.ts';

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
