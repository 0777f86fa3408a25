import { type Mortal, storedLife } from '../protocol/life.ts';
import type { NewToken, TokenRecord } from '../protocol/records.ts';
import type { IssueOutcome } from './contract.ts';
import type { Issuing } from './issuing.ts';
import { requireSamePrincipals } from './ties.ts';

/**
 * Whether new tokens may still rest upon a refresh token or a code: the condition of a compare-and-set, asked of
 * the record as read inside the same atomic step.
 * @param nowMs milliseconds
 */
export function canContinue(record: Mortal, nowMs: number): boolean {
  return storedLife(record, nowMs).alive;
}

/**
 * Whether tokens may be issued that rest upon a refresh token: the condition of `rotate` and `issueBeside`, asked inside
 * their atomic step.
 * @param nowMs milliseconds
 * @throws {TypeError} one of them names another principal than the refresh token
 */
export function outcomeUpon(
  presented: TokenRecord | undefined,
  tokens: readonly NewToken[],
  issuing: Issuing,
  nowMs: number,
): IssueOutcome | 'superseded' {
  if (presented === undefined || !canContinue(presented, nowMs)) return 'refused';
  if (presented.supersededAtMs !== undefined) return 'superseded';
  requireSamePrincipals(presented, tokens);
  return tokens.every((token) => issuing.admits(token)) ? 'issued' : 'refused';
}
