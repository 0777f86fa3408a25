import type { NewToken, TokenRecord } from '../protocol/records.ts';

const PRINCIPAL_MEMBERS = ['clientId', 'subject', 'sessionId', 'grantId'] as const;

type PrincipalMember = (typeof PRINCIPAL_MEMBERS)[number];

/**
 * Holds callers to what the contract says of ties: revoking a refresh token ends its grant, so one that is tied to
 * others without that grant would leave them alive.
 * @throws {TypeError} a token with a pair or family has no grant, or another than one that it is tied to
 */
export function requireGrantsBehindTies(tokens: readonly NewToken[]): void {
  const grants = { pairs: new Map<string, string>(), families: new Map<string, string>() };
  for (const { pairId, familyId, grantId } of tokens) {
    if (pairId !== undefined) requireOneGrant(grants.pairs, pairId, grantId);
    if (familyId !== undefined) requireOneGrant(grants.families, familyId, grantId);
  }
}

function requireOneGrant(grants: Map<string, string>, tie: string, grantId: string | undefined): void {
  if (grantId === undefined) throw new TypeError('a token of a pair or family belongs to a grant');
  if ((grants.get(tie) ?? grantId) !== grantId)
    throw new TypeError('tokens of a pair or family belong to one grant');
  grants.set(tie, grantId);
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
