import {
  LONGEST_ID_TOKEN_LIFETIME,
  type Mortal,
  type NewAuthorizationCode,
  type NewToken,
  storedLife,
  type TokenRecord,
} from '../protocol/records.ts';
import type { IssueOutcome } from './contract.ts';

/** What is about to be issued, as far as it matters for whether it may be. */
interface Candidate {
  readonly clientId: string;
  readonly subject?: string;
  /** Milliseconds. */
  readonly issuedAtMs: number;
}

/** What is about to be issued to a person, as far as it tells of its grant. */
export interface GrantBeginning extends Candidate {
  readonly sessionId?: string;
  readonly grantId?: string;
  readonly scopes: readonly string[];
}

/** The one way in which tokens come into a store that looks and writes in steps; all within one atomic step of its caller. */
export interface Issuing {
  /**
   * Whether a token or code may be issued: its client is there, nobody concerned is disabled, and it would not be
   * dead at birth.
   * @param clientGeneration what the client's generation must still be, where the caller read it before
   */
  admits(candidate: Candidate, clientGeneration?: number): boolean;
  /**
   * Stores tokens with the present generations of their principals; where this throws, none of them.
   * @throws {Error} an identifier is taken
   * @throws {TypeError} a token is tied to others without a grant
   */
  insert(tokens: readonly NewToken[]): void;
}

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

/** How long events stay where nothing else is said: 30 days. */
export const DEFAULT_EVENT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/**
 * Seconds for which a retired key is kept at the least, though nothing that it signed is stored: an access token
 * that was being signed during the rotation is stored after it, and ID tokens are never stored.
 */
export const RETIRED_KEY_SECONDS = LONGEST_ID_TOKEN_LIFETIME;

const DAY = 24 * 60 * 60;

/** Seconds for which the row of an expired code is kept, so that the log can say why a late client is refused. */
const EXPIRED_CODE_SECONDS = DAY;

/** A new code with the time, in seconds, until which its row is kept. */
export function keptCode(code: NewAuthorizationCode): NewAuthorizationCode & { readonly keepUntil: number } {
  return { ...code, keepUntil: code.expiresAt + EXPIRED_CODE_SECONDS };
}

/**
 * Until when a key is said to be needed that signed a row which is kept until `keepUntil` (both in seconds): the end
 * of that day (UTC), so that issuance writes to the key's own row about once a day and not with every token.
 */
export function keyNeededUntil(keepUntil: number): number {
  return Math.ceil(keepUntil / DAY) * DAY;
}

/** Seconds until which the last of the tokens is kept. */
export function latest(tokens: readonly NewToken[]): number {
  return Math.max(0, ...tokens.map(({ keepUntil }) => keepUntil));
}
