// Tokens, codes, grants and principals of the memory store.
import { frozen } from '../../platform/cache.ts';
import type { EventRecord, EventType } from '../../protocol/event_records.ts';
import type { PendingRow } from '../../protocol/pending.ts';
import { PRINCIPALS } from '../../protocol/record_rules.ts';
import type {
  Ancestor,
  AuthorizationCodeRecord,
  ClientRecord,
  GrantRecord,
  KeyRecord,
  NewToken,
  Principal,
  Standing,
  TokenRecord,
} from '../../protocol/records.ts';
import type {
  AdministrableStorage,
  AuthorizationCodeRepository,
  IssuingTokenRepository,
  OneTimeUse,
} from '../contract.ts';
import { asFault } from '../faults.ts';
import {
  canBeExchanged,
  canContinue,
  type GrantBeginning,
  type Issuing,
  keptCode,
  latest,
  markedUntil,
  outcomeUpon,
  outcomeUponCode,
  requireGrantsBehindTies,
} from '../issuing.ts';

/** A stored record with the generations that it copied. Rows are never changed, only replaced. */
export interface Row<R> {
  readonly record: R;
  readonly generations: Generations;
  /** Seconds. */
  readonly keepUntil: number;
}

type Generations = Readonly<Partial<Record<Principal, number>>>;

export type TokenRow = Row<Omit<TokenRecord, 'standing' | 'notBeforeMs'>>;
export type CodeRow = Row<Omit<AuthorizationCodeRecord, 'standing' | 'notBeforeMs'>>;

/** A grant with the generations that it copied when it began. Its row is kept as long as its principal's. */
export interface GrantRow {
  readonly record: GrantRecord;
  readonly generations: Generations;
}

export interface PrincipalRow {
  readonly generation: number;
  readonly raisedAtMs?: number;
  readonly disabledAtMs?: number;
  /** Seconds; `Infinity` if it is kept for ever. */
  readonly keepUntil: number;
}

interface KeyRow {
  readonly record: KeyRecord;
  /** Seconds until which rows that it signed are kept. */
  readonly neededUntil: number;
}

/** Everything that a memory store holds. */
interface Tables {
  readonly clients: Map<string, ClientRecord>;
  /** Places of clients that registered themselves. */
  readonly registeredFrom: Map<string, string>;
  /** Principals of all four kinds, under `principalKey`. */
  readonly principals: Map<string, PrincipalRow>;
  readonly grants: Map<string, GrantRow>;
  readonly tokens: Map<string, TokenRow>;
  readonly authorizationCodes: Map<string, CodeRow>;
  readonly keys: Map<string, KeyRow>;
  /** When users ended what clients had obtained for them by exchange, under `exchangeKey`. */
  readonly exchangeEnds: Map<string, { readonly endedAtMs: number; readonly keepUntil: number }>;
  /** Seconds until which each is taken. */
  readonly oneTimeIdentifiers: Map<string, number>;
  /** Seconds until which those that were swept were taken. */
  forgottenUntil: number;
  /** Under kind and identifier. */
  readonly pending: Map<string, PendingRow>;
  readonly events: EventRecord[];
  lastSequence: number;
  notBeforeMs: number | undefined;
  /** The first generation of a new client: above that of every removed client. */
  firstClientGeneration: number;
}

/** What each part of the store needs. */
export interface MemoryHandle {
  /** @throws Error once the store is closed */
  readonly tables: () => Tables;
  /** Milliseconds. */
  readonly clock: () => number;
}

export function emptyTables(): Tables {
  return {
    clients: new Map(),
    registeredFrom: new Map(),
    principals: new Map(),
    grants: new Map(),
    tokens: new Map(),
    authorizationCodes: new Map(),
    keys: new Map(),
    exchangeEnds: new Map(),
    oneTimeIdentifiers: new Map(),
    forgottenUntil: 0,
    pending: new Map(),
    events: [],
    lastSequence: 0,
    notBeforeMs: undefined,
    firstClientGeneration: 0,
  };
}

export function principalKey(principal: Principal, id: string): string {
  return `${principal} ${id}`;
}

export function exchangeKey(clientId: string, subject: string): string {
  return `${clientId}\n${subject}`;
}

export function addEvent(
  { tables, clock }: MemoryHandle,
  type: EventType,
  target: string,
  actor?: string,
): void {
  const held = tables();
  held.lastSequence += 1;
  held.events.push({
    sequence: held.lastSequence,
    atMs: clock(),
    type,
    target,
    ...(actor !== undefined && { actor }),
  });
}

/** Whether an identifier was used before, or may have been. One that has expired can be taken for longer. */
export function isTaken({ tables, clock }: MemoryHandle, once: OneTimeUse | undefined): boolean {
  if (once === undefined) return false;
  const { oneTimeIdentifiers, forgottenUntil } = tables();
  const takenUntil = oneTimeIdentifiers.get(once.id) ?? 0;
  return once.expiresAt <= Math.max(takenUntil, forgottenUntil) || takenUntil * 1000 > clock();
}

/** Marks an identifier as used. */
export function remember({ tables }: MemoryHandle, once: OneTimeUse | undefined): void {
  if (once !== undefined) tables().oneTimeIdentifiers.set(once.id, once.expiresAt);
}

/** A frozen copy, which neither the caller nor a reader can change. */
export function snapshot<T>(value: T): T {
  return frozen(structuredClone(value));
}

/** What a revocation searches for. */
type Family = Pick<TokenRecord, 'id' | 'pairId' | 'familyId'>;

/**
 * @param parts.tellsRevokedByMethod whether only `isAccessTokenRevoked` and `isRefreshTokenRevoked` show a revocation,
 *   and not `revokedAtMs`
 */
export function memoryTokens(
  handle: MemoryHandle,
  parts: {
    readonly issuing: Issuing;
    readonly principals: Principals;
    readonly revoking: Revoking;
    readonly tellsRevokedByMethod: boolean;
  },
): IssuingTokenRepository {
  const { issuing, principals, revoking, tellsRevokedByMethod } = parts;
  const { tables, clock } = handle;

  const find = (id: string, kind: TokenRecord['kind']): TokenRecord | undefined => {
    const row = tables().tokens.get(id);
    if (row?.record.kind !== kind) return undefined;
    return { ...row.record, ...principals.standingsOf(row.record, row.generations) };
  };

  const areAlive = (ancestors: readonly Ancestor[], endedAtMs?: number): boolean =>
    ancestors.every(({ kind, id }) => canBeExchanged(find(id, kind), clock(), endedAtMs));

  const show = (record: TokenRecord | undefined): TokenRecord | undefined => {
    if (record === undefined || !tellsRevokedByMethod) return record;
    const { revokedAtMs: _, ...shown } = record;
    return shown;
  };

  const isRevoked = ({ id, kind }: TokenRecord): boolean => {
    const stored = find(id, kind);
    return stored === undefined || stored.revokedAtMs !== undefined || stored.expiresAt === 0;
  };

  // Walks through all tokens: revocation is rare, and an index would cost every issuance.
  const rowsWhere = (matches: (record: TokenRow['record']) => boolean): readonly TokenRow[] =>
    [...tables().tokens.values()].filter(({ record }) => matches(record));

  const pairOf = ({ id, pairId }: Family): readonly TokenRow[] =>
    rowsWhere((record) => record.id === id || (pairId !== undefined && record.pairId === pairId));

  const familyOf = ({ familyId }: Family): readonly TokenRow[] =>
    familyId === undefined ? [] : rowsWhere((record) => record.familyId === familyId);

  /** Finds the refresh token that could issue the access token again, with its pair. */
  const currentOfFamily = (token: Family): readonly TokenRow[] =>
    familyOf(token)
      .filter(({ record }) => record.kind === 'refresh_token' && record.supersededAtMs === undefined)
      .flatMap(({ record }) => pairOf(record));

  const outcomeFor = (id: string, tokens: readonly NewToken[], once: OneTimeUse | undefined) => {
    const outcome = outcomeUpon(find(id, 'refresh_token'), tokens, clock());
    return outcome === 'issued' && isTaken(handle, once) ? 'already_used' : outcome;
  };

  const repository: IssuingTokenRepository = {
    takesOnce: true,
    keepsAncestors: true,

    getByAccessToken: (id) => show(find(id, 'access_token')),
    getByRefreshToken: (id) => show(find(id, 'refresh_token')),
    isRefreshTokenRevoked: isRevoked,

    descendantsOf: (ancestor, limit) =>
      rowsWhere(({ ancestors = [] }) => ancestors.some(({ id }) => id === ancestor))
        .flatMap(({ record: { id, kind } }) => show(find(id, kind)) ?? [])
        .filter(({ expiresAt }) => expiresAt * 1000 > clock())
        .toSorted((one, other) => other.expiresAt - one.expiresAt)
        .slice(0, limit),

    exchangedFor: (subject, limit) =>
      rowsWhere((record) => record.subject === subject && record.ancestors !== undefined)
        .flatMap(({ record: { id, kind } }) => find(id, kind) ?? [])
        .filter((record) => canContinue(record, clock()) && areAlive(record.ancestors ?? []))
        .toSorted((one, other) => other.expiresAt - one.expiresAt)
        .slice(0, limit),

    revoke(record) {
      const copied = tables().tokens.get(record.id)?.generations.grant;
      let ended = 0;
      if (record.kind === 'access_token') ended += revoking.endTokens(currentOfFamily(record));
      else if (record.grantId !== undefined) ended += revoking.endGrant(record.grantId, copied);
      ended += revoking.endTokens(pairOf(record));
      if (ended > 0) addEvent(handle, 'token_revoked', record.id);
    },

    revokeFamily(record) {
      const ended = revoking.endTokens(familyOf(record)) + revoking.endTokens(pairOf(record));
      if (ended > 0) addEvent(handle, 'family_revoked', record.familyId ?? record.id);
    },

    issue(tokens, { clientGeneration = 0, leavesNoRow = false }) {
      if (!tokens.every((token) => issuing.admits(token, clientGeneration))) return 'refused';
      const { exchangeEnds } = tables();
      const isExchangeable = ({ clientId, subject = '', ancestors = [] }: NewToken) =>
        areAlive(ancestors, exchangeEnds.get(exchangeKey(clientId, subject))?.endedAtMs);
      if (!tokens.every(isExchangeable)) return 'refused';
      if (!leavesNoRow) issuing.insert(tokens);
      return 'issued';
    },

    rotate({ id }, successor, tokens, once) {
      const row = tables().tokens.get(id);
      const outcome = outcomeFor(id, tokens, once);
      if (row === undefined || outcome !== 'issued') return outcome;
      issuing.insert(tokens);
      remember(handle, once);
      const superseded = { ...row.record, supersededAtMs: clock(), successorId: successor.id };
      tables().tokens.set(id, { ...row, record: superseded });
      return outcome;
    },

    issueFrom({ id }, tokens, once) {
      const outcome = outcomeFor(id, tokens, once);
      if (outcome !== 'issued') return outcome;
      issuing.insert(tokens);
      remember(handle, once);
      return outcome;
    },
  };
  return tellsRevokedByMethod ? { ...repository, isAccessTokenRevoked: isRevoked } : repository;
}

/** How tokens enter the store. */
export function memoryIssuing({ tables }: MemoryHandle, principals: Principals, grants: Grants): Issuing {
  /** In any status: the key may have retired while the token was being signed. */
  const extendKey = (kid: string, keepUntil: number): void => {
    const { keys } = tables();
    const key = keys.get(kid);
    if (key !== undefined) keys.set(kid, { ...key, neededUntil: Math.max(key.neededUntil, keepUntil) });
  };

  return {
    admits({ clientId, subject, issuedAtMs }, clientGeneration) {
      const client = principals.find('client', clientId);
      return (
        client !== undefined &&
        client.disabledAtMs === undefined &&
        client.generation === clientGeneration &&
        (subject === undefined || principals.find('subject', subject)?.disabledAtMs === undefined) &&
        issuedAtMs >= (tables().notBeforeMs ?? 0)
      );
    },

    insert(tokens) {
      requireGrantsBehindTies(tokens);
      const stored = tables().tokens;
      const ids = new Set(tokens.map((token) => token.id));
      if (ids.size < tokens.length || tokens.some((token) => stored.has(token.id))) {
        throw asFault(new Error('a token with this identifier is stored already'));
      }
      for (const { keepUntil, ...record } of snapshot(tokens)) {
        const generations = principals.keep(record, keepUntil);
        stored.set(record.id, { record, keepUntil, generations });
        if (!record.ancestors) grants.begin(record, generations);
        if (record.keyId !== undefined) extendKey(record.keyId, keepUntil);
      }
    },
  };
}

export interface Grants extends Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'> {
  /** Stores a grant with its first code or tokens. Later ones replace it only if it has ended. */
  begin(first: GrantBeginning, generations: Generations): void;
}

export function memoryAuthorizationCodes(
  handle: MemoryHandle,
  parts: {
    readonly issuing: Issuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly revoking: Revoking;
  },
): AuthorizationCodeRepository {
  const { issuing, grants, principals, revoking } = parts;
  const { tables, clock } = handle;

  const find = (id: string): AuthorizationCodeRecord | undefined => {
    const row = tables().authorizationCodes.get(id);
    return row && { ...row.record, ...principals.standingsOf(row.record, row.generations) };
  };

  return {
    takesOnce: true,

    get: find,

    issue(code, { clientGeneration = 0 }) {
      const { authorizationCodes } = tables();
      if (!issuing.admits(code, clientGeneration)) return 'refused';
      if (authorizationCodes.has(code.id))
        throw asFault(new Error('a code with this identifier is stored already'));
      const { keepUntil, ...record } = snapshot(keptCode(code));
      const generations = principals.keep(code, code.expiresAt);
      authorizationCodes.set(code.id, { record, keepUntil, generations });
      grants.begin(record, generations);
      return 'issued';
    },

    redeem({ id }, tokens, once) {
      const row = tables().authorizationCodes.get(id);
      const outcome = outcomeUponCode(find(id), tokens, clock());
      if (row === undefined || outcome !== 'issued') return outcome;
      if (isTaken(handle, once)) return 'already_used';
      issuing.insert(tokens);
      remember(handle, once);
      const record = { ...row.record, redeemedAtMs: clock() };
      const keepUntil = Math.max(row.keepUntil, latest(tokens));
      tables().authorizationCodes.set(id, { ...row, record, keepUntil });
      return outcome;
    },

    revoke({ id, grantId }) {
      const row = tables().authorizationCodes.get(id);
      if (row === undefined) return;
      const marked = revoking.endCode(row);
      const ended = revoking.endGrant(grantId, row.generations.grant);
      if (marked || ended > 0) addEvent(handle, 'code_revoked', id);
    },
  };
}

/** How a revocation is stored: the three ways that a host may choose. */
export type RevokeBy = 'flag' | 'deletion' | 'zero_expiry';

export interface Revoking {
  /** Revokes the given tokens. @returns how many of them were not revoked before */
  endTokens(rows: readonly TokenRow[]): number;
  /** @returns whether the code was not revoked before */
  endCode(row: CodeRow): boolean;
  /**
   * Revokes all tokens and codes of a grant.
   * @param copied the generation of the grant that the token or code copied which is being revoked
   * @returns how many were revoked
   */
  endGrant(grantId: string, copied: number | undefined): number;
}

/**
 * @param raisesGrants whether a grant is revoked by its generation, or row by row as by a host without generations
 */
export function memoryRevoking(
  { tables, clock }: MemoryHandle,
  principals: Principals,
  revokeBy: RevokeBy,
  raisesGrants: boolean,
): Revoking {
  const end = <R extends Endable>(table: Map<string, Row<R>>, row: Row<R>): boolean => {
    const { record } = row;
    if (record.revokedAtMs !== undefined || record.expiresAt === 0) return false;
    if (revokeBy === 'deletion') return table.delete(record.id);
    const ended = revokeBy === 'flag' ? { revokedAtMs: clock() } : { expiresAt: 0 };
    table.set(record.id, { ...row, record: { ...record, ...ended } });
    return true;
  };

  const endTokens = (rows: readonly TokenRow[]): number => {
    const { tokens } = tables();
    return rows.filter((row) => end(tokens, row)).length;
  };

  return {
    endTokens,

    endCode(row) {
      return end(tables().authorizationCodes, row);
    },

    endGrant(grantId, copied) {
      if (raisesGrants) return Number(copied !== undefined && principals.raiseGrantOnce(grantId, copied));
      const { tokens, authorizationCodes, grants } = tables();
      grants.delete(grantId);
      const rows = [...tokens.values()].filter(({ record }) => record.grantId === grantId);
      const codes = [...authorizationCodes.values()].filter(({ record }) => record.grantId === grantId);
      return endTokens(rows) + codes.filter((row) => end(authorizationCodes, row)).length;
    },
  };
}

interface Endable {
  readonly id: string;
  readonly expiresAt: number;
  readonly revokedAtMs?: number;
}

/** The principals of a token or code. */
export interface Dependencies {
  readonly clientId: string;
  readonly subject?: string;
  readonly sessionId?: string;
  readonly grantId?: string;
}

export interface Principals {
  find(principal: Principal, id: string): PrincipalRow | undefined;
  /** Makes sure that the principals of a token or code exist and outlive it (seconds). @returns their generations */
  keep(of: Dependencies, keepUntil: number): Generations;
  /** Revokes all tokens of a principal. @returns whether there is one */
  raise(principal: Principal, id: string): boolean;
  /** Revokes all tokens of a grant if its generation is still `copied`. @returns whether it was */
  raiseGrantOnce(id: string, copied: number): boolean;
  /** @returns whether that changed anything */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): boolean;
  /** How a token or code that copied `generations` stands to its principals now. */
  standingsOf(of: Dependencies, generations: Generations): Standings;
}

export type Standings = Pick<AuthorizationCodeRecord, 'standing' | 'notBeforeMs'>;

/** The generations of the principals of tokens. */
export function memoryPrincipals({ tables, clock }: MemoryHandle): Principals {
  const find = (principal: Principal, id: string) => tables().principals.get(principalKey(principal, id));
  const set = (principal: Principal, id: string, row: PrincipalRow) => {
    tables().principals.set(principalKey(principal, id), row);
  };

  /**
   * A generation begins with the time of the row's creation. If a row was swept and is created again, it is ahead of
   * all tokens that copied the old one.
   */
  const kept = (principal: Principal, id: string, keepUntil: number): number => {
    const row = find(principal, id) ?? { generation: clock(), keepUntil };
    set(principal, id, { ...row, keepUntil: Math.max(row.keepUntil, keepUntil) });
    return row.generation;
  };

  const raise = (principal: Principal, id: string): boolean => {
    const markUntil = markedUntil(principal, id, clock());
    if (markUntil !== undefined) kept(principal, id, markUntil ?? Infinity);
    const row = find(principal, id);
    if (row === undefined) return false;
    set(principal, id, { ...row, generation: row.generation + 1, raisedAtMs: clock() });
    return true;
  };

  return {
    find,

    keep({ clientId, subject, sessionId, grantId }, keepUntil) {
      return {
        client: kept('client', clientId, Infinity),
        ...(subject !== undefined && { subject: kept('subject', subject, Infinity) }),
        ...(sessionId !== undefined && { session: kept('session', sessionId, keepUntil) }),
        ...(grantId !== undefined && { grant: kept('grant', grantId, keepUntil) }),
      };
    },

    raise,

    raiseGrantOnce(id, copied) {
      return find('grant', id)?.generation === copied && raise('grant', id);
    },

    setDisabled(principal, id, disabled) {
      // A user can be disabled before the first token is issued; a client must be registered.
      if (disabled && principal === 'subject') kept(principal, id, Infinity);
      const row = find(principal, id);
      if (row === undefined || (row.disabledAtMs !== undefined) === disabled) return false;
      const { disabledAtMs: _, ...enabled } = row;
      const nowMs = clock();
      const ended = { generation: row.generation + 1, raisedAtMs: nowMs, disabledAtMs: nowMs };
      set(principal, id, disabled ? { ...enabled, ...ended } : enabled);
      return true;
    },

    standingsOf({ clientId, subject, sessionId, grantId }, generations) {
      const ids = { client: clientId, subject, session: sessionId, grant: grantId };
      const { notBeforeMs } = tables();
      const standing: Partial<Record<Principal, Standing>> = {};
      for (const principal of PRINCIPALS) {
        const id = ids[principal];
        const copied = generations[principal];
        if (id !== undefined && copied !== undefined)
          standing[principal] = standingOf(copied, find(principal, id));
      }
      return { standing, ...(notBeforeMs !== undefined && { notBeforeMs }) };
    },
  };
}

/**
 * A principal without a row is ahead of every copy of its generation: its row was swept after its last token ended.
 */
function standingOf(copied: number, row: PrincipalRow | undefined): Standing {
  return {
    copied,
    current: row?.generation ?? copied + 1,
    ...(row?.raisedAtMs !== undefined && { raisedAtMs: row.raisedAtMs }),
    ...(row?.disabledAtMs !== undefined && { disabledAtMs: row.disabledAtMs }),
  };
}
