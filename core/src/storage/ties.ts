import type { NewToken } from '../protocol/records.ts';

/**
 * Holds callers to what the contract says of ties: revoking a refresh token ends its grant, so one that is tied to
 * others without a grant would leave them alive.
 * @throws {TypeError} a token with a pair or family has no grant
 */
export function requireGrantBehindTies(tokens: readonly NewToken[]): void {
  for (const { pairId, familyId, grantId } of tokens) {
    const isTied = pairId !== undefined || familyId !== undefined;
    if (isTied && grantId === undefined)
      throw new TypeError('a token of a pair or family belongs to a grant');
  }
}
