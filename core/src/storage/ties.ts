import type { NewToken, TokenRecord } from '../protocol/records.ts';

const PRINCIPAL_MEMBERS = ['clientId', 'subject', 'sessionId', 'grantId'] as const;

type PrincipalMember = (typeof PRINCIPAL_MEMBERS)[number];

/** The grants of what is tied together, by the identifier of a pair or family. */
export interface GrantsOfTies {
  readonly pairs: ReadonlyMap<string, string>;
  readonly families: ReadonlyMap<string, string>;
}

/**
 * Holds callers to what the contract says of ties: revoking a refresh token ends its grant, so one that is tied to
 * others without that grant would leave them alive.
 * @throws {TypeError} a token with a pair or family has no grant, or another than one that it is tied to
 */
export function requireGrantsBehindTies(tokens: readonly NewToken[]): GrantsOfTies {
  const pairs = new Map<string, string>();
  const families = new Map<string, string>();
  for (const { pairId, familyId, grantId } of tokens) {
    for (const [ties, id] of [[pairs, pairId] as const, [families, familyId] as const]) {
      if (id === undefined) continue;
      if (grantId === undefined) throw new TypeError('a token of a pair or family belongs to a grant');
      requireSameGrant(ties.get(id), grantId);
      ties.set(id, grantId);
    }
  }
  return { pairs, families };
}

/** @throws {TypeError} they are two; whatever has no grant yet takes any */
export function requireSameGrant(one: string | null | undefined, other: string): void {
  if (typeof one === 'string' && one !== other)
    throw new TypeError('tokens of a pair or family belong to one grant');
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
