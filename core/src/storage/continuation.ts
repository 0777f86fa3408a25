import { type Mortal, storedLife } from '../protocol/life.ts';

/**
 * Whether new tokens may still rest upon a refresh token or a code: the condition of a compare-and-set, asked of
 * the record as read inside the same atomic step.
 * @param nowMs milliseconds
 */
export function canContinue(record: Mortal, nowMs: number): boolean {
  return storedLife(record, nowMs).alive;
}
