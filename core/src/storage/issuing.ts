// Rules of issuance that all stores share.
import { secondsOf } from '../platform/environment.ts';
import { LONGEST_ID_TOKEN_LIFETIME } from '../protocol/client_metadata.ts';
import type { EventFacts, EventOrigin, EventType } from '../protocol/event_records.ts';
import {
  ASSERTED_SESSION,
  applicationOf,
  type LifeFacts,
  NO_TOKEN,
  storedLife,
} from '../protocol/record_rules.ts';
import type {
  AuthorizationCodeRecord,
  ClientRecord,
  NewAuthorizationCode,
  NewToken,
  Principal,
  TokenRecord,
} from '../protocol/records.ts';
import type { IssueOutcome } from './contract.ts';
import { ContractBreach } from './faults.ts';

/** The part of a new token or code that decides whether it may be issued upon its client. */
interface Candidate {
  readonly clientId: string;
  readonly subject?: string;
  /** Milliseconds. */
  readonly issuedAtMs: number;
}

/** The part of a new token or code that its grant keeps. */
export interface GrantBeginning extends Candidate {
  readonly sessionId?: string;
  readonly grantId?: string;
  readonly scopes: readonly string[];
}

/** The part of a live refresh token or code that tokens upon it depend on. */
export type IssuingBasis = Pick<TokenRecord, 'standing' | 'sessionId' | 'grantId'>;

/** How tokens enter a store that reads and writes in steps. All calls run within one atomic step of the caller. */
export interface Issuing {
  /**
   * Whether a token or code may be issued upon its client alone: the client exists and its generation is unchanged,
   * its client and subject are enabled, and it is not behind the cutoff in time.
   * @param clientGeneration as the caller read it before
   */
  admits(candidate: Candidate, clientGeneration: number): boolean;
  /**
   * Stores all tokens with the current generations of their principals, or throws and stores none.
   * @param basis the refresh token or code that `outcomeUpon` or `outcomeUponCode` has accepted in the same atomic step
   * @throws {Error} an identifier is taken
   * @throws {ContractBreach} a token is tied to others without a grant
   */
  insert(tokens: readonly NewToken[], basis?: IssuingBasis): void;
}

/**
 * Whether new tokens may be issued on the basis of a refresh token or code. Call it in the atomic step that read the
 * record and will write.
 * @param nowMs milliseconds since 1970
 */
export function canContinue(record: LifeFacts, nowMs: number): boolean {
  return storedLife(record, nowMs).alive;
}

/** Seconds that an end of exchanges is remembered beyond all tokens, for those that are stored at the same moment. */
export const EXCHANGE_END_MARGIN = 24 * 60 * 60;

/**
 * Whether a token may be obtained from this one, as `IssuingTokenRepository.issue` says. Call it in its atomic step.
 * @param nowMs milliseconds since 1970
 * @param endedAtMs when the user last ended what the client had obtained for them, likewise
 */
export function canBeExchanged(
  ancestor: TokenRecord | undefined,
  nowMs: number,
  endedAtMs: number | undefined,
): boolean {
  if (ancestor === undefined || !canContinue(ancestor, nowMs)) return false;
  return ancestor.kind === 'refresh_token' || ancestor.issuedAtMs > (endedAtMs ?? 0);
}

/**
 * The condition of `rotate` and `issueFrom`. Call it in their atomic step.
 * @param nowMs milliseconds since 1970
 * @throws {ContractBreach} one of the tokens names another principal than the refresh token
 */
export function outcomeUpon(
  presented: (Basis & Pick<TokenRecord, 'supersededAtMs'>) | undefined,
  tokens: readonly NewToken[],
  nowMs: number,
): IssueOutcome | 'superseded' {
  if (presented === undefined || !canContinue(presented, nowMs)) return 'refused';
  if (presented.supersededAtMs !== undefined) return 'superseded';
  return outcomeUponLive(presented, tokens);
}

/**
 * The condition of `redeem`. Call it in its atomic step.
 * @param nowMs milliseconds since 1970
 * @throws {ContractBreach} one of the tokens names another principal than the code
 */
export function outcomeUponCode(
  stored: (Basis & Pick<AuthorizationCodeRecord, 'redeemedAtMs'>) | undefined,
  tokens: readonly NewToken[],
  nowMs: number,
): IssueOutcome | 'already_redeemed' {
  if (stored === undefined) return 'refused';
  if (stored.redeemedAtMs !== undefined) return 'already_redeemed';
  return canContinue(stored, nowMs) ? outcomeUponLive(stored, tokens) : 'refused';
}

/** The basis is alive, so its client and subject exist and are enabled. The tokens have the same ones. */
function outcomeUponLive(basis: Basis, tokens: readonly NewToken[]): IssueOutcome {
  requireSamePrincipals(basis, tokens);
  return tokens.some(({ issuedAtMs }) => issuedAtMs < (basis.notBeforeMs ?? 0)) ? 'refused' : 'issued';
}

export const PRINCIPAL_MEMBERS = ['clientId', 'subject', 'sessionId', 'grantId'] as const;

/** The part of a refresh token or code that decides what may be issued upon it. */
type Basis = LifeFacts & Pick<TokenRecord, (typeof PRINCIPAL_MEMBERS)[number]>;

/**
 * Checks the ties of new tokens. Revoking a refresh token revokes its grant, so a token that is tied to it without
 * that grant would stay alive.
 * @throws {ContractBreach} a token with a pair or family has no grant, or another grant than its pair or family
 */
export function requireGrantsBehindTies(tokens: readonly NewToken[]): void {
  for (const tie of ['pairId', 'familyId'] as const) {
    const tied = tokens.filter((token) => token[tie] !== undefined);
    const grants = new Map(tied.map((token) => [token[tie], token.grantId]));
    if (tied.some(({ grantId }) => grantId === undefined))
      throw new ContractBreach('a token with pairId or familyId needs a grantId');
    if (tied.some((token) => token.grantId !== grants.get(token[tie])))
      throw new ContractBreach('tokens of one pair or family must have the same grantId');
  }
}

/**
 * Checks that new tokens name only the client, user, session and grant of their basis, whose generations they copy.
 * @throws {ContractBreach} one of them names another
 */
function requireSamePrincipals(basis: Basis, tokens: readonly NewToken[]): void {
  for (const member of PRINCIPAL_MEMBERS) {
    if (tokens.some((token) => token[member] !== undefined && token[member] !== basis[member]))
      throw new ContractBreach(`a token has another ${member} than its basis`);
  }
}

/** The principals of a token or code, without its client, whose row is always kept. */
export interface Dependencies {
  readonly subject?: string;
  readonly sessionId?: string;
  readonly grantId?: string;
}

/** What the row of a principal must be at least. */
export interface KeptPrincipal {
  readonly kind: Exclude<Principal, 'client'>;
  readonly id: string;
  /** Seconds since 1970; `null` for subjects, which stay for ever. */
  readonly keepUntil: number | null;
}

/**
 * The principals that must exist and outlive tokens or codes of one issuance, each of them once. A session is kept to
 * the end of a day, so that its row changes about once a day and not with every token. The time of a grant is exact,
 * because stores may list it until its row is over.
 */
export function principalsBehind(
  dependents: readonly (Dependencies & { readonly keepUntil: number })[],
): readonly KeptPrincipal[] {
  const kept = new Map<string, KeptPrincipal>();
  // The dependent that is kept longest comes last.
  const sorted = dependents.toSorted((one, other) => one.keepUntil - other.keepUntil);
  for (const { subject, sessionId: session, grantId: grant, keepUntil } of sorted) {
    if (subject !== undefined)
      kept.set(`subject ${subject}`, { kind: 'subject', id: subject, keepUntil: null });
    if (session !== undefined)
      kept.set(`session ${session}`, { kind: 'session', id: session, keepUntil: endOfDay(keepUntil) });
    if (grant !== undefined) kept.set(`grant ${grant}`, { kind: 'grant', id: grant, keepUntil });
  }
  return [...kept.values()];
}

/** What tokens were issued upon: their client alone, or a code or refresh token. */
export type TokenBasis = 'client' | 'authorization_code' | 'refresh_token';

/**
 * Until when a principal is kept if it is revoked before its first token, in seconds: a user for ever (`null`), because a
 * sign-in may be under way, and the session of assertions as long as any of them lives.
 * @returns `undefined` if it does not exist before its first token
 */
export function markedUntil(principal: Principal, id: string, nowMs: number): number | null | undefined {
  if (principal === 'subject') return null;
  const isAsserted = principal === 'session' && id.startsWith(ASSERTED_SESSION);
  return isAsserted ? endOfDay(secondsOf(nowMs)) + 2 * DAY : undefined;
}

interface Issuance extends EventFacts {
  readonly type: EventType;
}

/** The event of an issuance. @returns `undefined` if there are no tokens */
export function issuanceOf(tokens: readonly NewToken[], basis: TokenBasis): Issuance | undefined {
  const [first] = tokens;
  const target = tokens.map(({ id }) => id).join(' ');
  if (first === undefined || first.tokenType === NO_TOKEN) return first && assertionIssued(first);
  const reason = first.ancestors ? reasonOfDescendant(first) : basis;
  return { type: 'token_issued', target, clientId: first.clientId, subject: first.subject, reason };
}

/** Only an identity assertion has ancestors. Its resource is the server that it is for. @returns `undefined` for rows of other issuers */
function assertionIssued({ id, clientId, subject, ancestors, resources = [], scopes }: NewToken) {
  const reason = [...resources, ...scopes].join(' ');
  return ancestors && ({ type: 'identity_assertion_issued', target: id, clientId, subject, reason } as const);
}

/** What is obtained directly from an assertion has it as its only ancestor. An exchange also names the application. */
function reasonOfDescendant({ ancestors = [] }: NewToken): string {
  const [first, ...others] = ancestors;
  if (first?.issuer !== undefined && others.length === 0) return `jwt_bearer:${first.issuer}`;
  const application = applicationOf(ancestors);
  return application === undefined ? 'token_exchange' : `token_exchange:${application}`;
}

/** The event about a principal. @param subject of a session */
export function principalFacts(
  principal: Principal,
  id: string,
  { subject, reason }: Partial<EventFacts> = {},
): EventFacts {
  return {
    target: id,
    ...(principal === 'client' && { clientId: id }),
    subject: principal === 'subject' ? id : subject,
    reason,
  };
}

/** The event about a client. */
export function aboutClient(id: string): EventFacts {
  return principalFacts('client', id);
}

/** Who added a client: without another actor, itself if it has registered itself. */
export function ofNewClient(
  origin: EventOrigin,
  { registrationTokenDigest }: Pick<ClientRecord, 'registrationTokenDigest'>,
): EventOrigin {
  return registrationTokenDigest === undefined ? origin : ofClientChange(origin);
}

/** Who changed a client: without another actor, a client that has registered itself. */
export function ofClientChange(origin: EventOrigin): EventOrigin {
  return { actor: 'registration', ...origin };
}

/** Who ended a family or a code: without another actor, its client, or the server if it has a reason. */
export function ofEnding(origin: EventOrigin = {}, reason: string | undefined): EventOrigin {
  return reason === undefined ? origin : { actor: 'server', ...origin };
}

/** 30 days. */
export const DEFAULT_EVENT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/**
 * Seconds for which a retired key is kept at least, even if no stored token needs it. An access token may be stored
 * just after the rotation, and ID tokens are never stored.
 */
export const RETIRED_KEY_SECONDS = LONGEST_ID_TOKEN_LIFETIME;

const DAY = 24 * 60 * 60;

/** Seconds for which an expired code is kept, so that the log can say why a late client is refused. */
const EXPIRED_CODE_SECONDS = 10 * 60;

/** A new code with the time, in seconds, until which its row is kept if it is not redeemed. */
export function keptCode(code: NewAuthorizationCode): NewAuthorizationCode & { readonly keepUntil: number } {
  return { ...code, keepUntil: code.expiresAt + EXPIRED_CODE_SECONDS };
}

/**
 * Returns the end of the day (UTC); both in seconds since 1970. Rows of keys and sessions that are kept until then
 * change about once a day and not with every token.
 */
export function endOfDay(seconds: number): number {
  return Math.ceil(seconds / DAY) * DAY;
}

/** Returns the latest `keepUntil`, in seconds since 1970. */
export function latest(tokens: readonly NewToken[]): number {
  return Math.max(0, ...tokens.map(({ keepUntil }) => keepUntil));
}
