import type { NewToken, TokenRecord } from '../protocol/records.ts';

const PRINCIPAL_MEMBERS = ['clientId', 'subject', 'sessionId', 'grantId'] as const;

type PrincipalMember = (typeof PRINCIPAL_MEMBERS)[number];

/**
 * Holds callers to what the contract says of ties: revoking a refresh token ends its grant, so one that is tied to
 * others without that grant would leave them alive.
 * @throws {TypeError} a token with a pair or family has no grant, or another than those that it is tied to
 */
export function requireGrantBehindTies(tokens: readonly NewToken[]): void {
  for (const { pairId, familyId, grantId } of tokens) {
    if (pairId === undefined && familyId === undefined) continue;
    if (grantId === undefined) throw new TypeError('a token of a pair or family belongs to a grant');
    for (const other of tokens) {
      const isTied = hasInCommon(pairId, other.pairId) || hasInCommon(familyId, other.familyId);
      if (isTied && other.grantId !== grantId)
        throw new TypeError('tokens of a pair or family belong to one grant');
    }
  }
}

function hasInCommon(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && one === other;
}

/**
 * Holds callers to what the contract says of tokens that rest upon a refresh token or a code: they are its client's, and
 * name no person, session or grant besides its own, whose generations they copy.
 * @throws {TypeError} one of them does
 */
export function requireSamePrincipals(
  basis: Pick<TokenRecord, PrincipalMember>,
  tokens: readonly NewToken[],
): void {
  for (const token of tokens) {
    for (const member of PRINCIPAL_MEMBERS) {
      if (token[member] !== undefined && token[member] !== basis[member])
        throw new TypeError(`a token has another ${member} than what it rests upon`);
    }
  }
}
