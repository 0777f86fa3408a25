import type { AuthorizationCodeRecord, Standing, TokenRecord } from '../protocol/records.ts';

/** What tokens and codes have in common. */
export type Continuable = Pick<
  TokenRecord | AuthorizationCodeRecord,
  'issuedAtMs' | 'expiresAt' | 'revokedAtMs' | 'notBeforeMs' | 'standing'
>;

/**
 * Whether new tokens may still rest upon a refresh token or a code: the condition of a compare-and-set, asked of
 * the record as read inside the same atomic step.
 * @param nowMs milliseconds
 */
export function canContinue(record: Continuable, nowMs: number): boolean {
  return (
    record.revokedAtMs === undefined &&
    nowMs < record.expiresAt * 1000 &&
    record.issuedAtMs >= (record.notBeforeMs ?? 0) &&
    Object.values(record.standing ?? {}).every(isUpToDate)
  );
}

/** Whether a principal is neither ahead of what was copied from it nor disabled. */
export function isUpToDate(standing: Standing): boolean {
  return standing.copied >= standing.current && standing.disabledAtMs === undefined;
}
