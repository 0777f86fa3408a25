// Tokens, grants and codes in SQLite.

import type { StatementSync } from 'node:sqlite';
import type { EventOrigin } from '../../protocol/event_records.ts';
import type { AuthorizationCodeRecord, NewToken, TokenRecord } from '../../protocol/records.ts';
import {
  type AnyColumns,
  AUTHORIZATION_CODES,
  columnsOf,
  GRANTS,
  insertedNames,
  insertedRow,
  insertedValues,
  type RowList,
  type RowObject,
  TOKENS,
  type WrittenValue,
} from '../columns.ts';
import type {
  AdministrableStorage,
  AuthorizationCodeRepository,
  IssuingTokenRepository,
} from '../contract.ts';
import {
  canBeExchanged,
  canContinue,
  endOfDay,
  type GrantBeginning,
  type Issuing,
  type IssuingBasis,
  issuanceOf,
  keptCode,
  latest,
  ofEnding,
  outcomeUpon,
  outcomeUponCode,
  requireGrantsBehindTies,
  type TokenBasis,
} from '../issuing.ts';
import {
  CODE_COLUMNS,
  END_EXCHANGES,
  forSqlite,
  GENERATIONS,
  GRANTS_OF_SUBJECT,
  NOTE_EXCHANGE_END,
  ON_KNOWN_GRANT,
  STANDING_JOINS,
  standingReader,
  TOKEN_COLUMNS,
  toCodeRecord,
  toTokenRecord,
  toUsableGrant,
  USABLE_GRANTS,
  withStanding,
} from '../statements.ts';
import type { CachedTokens } from './cached_tokens.ts';
import type { Looks, SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Take } from './keys.ts';
import type { Principals } from './principals.ts';
import { prepareAll, returningLists } from './queues.ts';

const JOINS = forSqlite(STANDING_JOINS);

/** What decides what may be issued upon a refresh token or code. */
const BASIS = columnsOf(
  TOKENS,
  ...(['clientId', 'subject', 'sessionId', 'grantId', 'issuedAtMs', 'expiresAt', 'revokedAtMs'] as const),
);
const REFRESH_BASIS = { ...BASIS, supersededAtMs: TOKENS.supersededAtMs };
const CODE_BASIS = { ...BASIS, redeemedAtMs: AUTHORIZATION_CODES.redeemedAtMs };

/** SQL for a time after all others: without a session or grant, there is none to keep. */
const NEVER = String(Number.MAX_SAFE_INTEGER);

/** These columns of the row `t`, and until when its session and grant are kept. */
const basisIn = (columns: AnyColumns) =>
  `${withStanding(columns)}, coalesce(e.keep_until, ${NEVER}), coalesce(g.keep_until, ${NEVER})`;

export const TOKENS_SQL = {
  getAccessToken: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${JOINS}
    WHERE t.issuer_id = ? AND t.id = ? AND t.kind = 'access_token'`,

  getRefreshToken: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${JOINS}
    WHERE t.issuer_id = ? AND t.id = ? AND t.kind = 'refresh_token'`,

  // Walks through the exchanged tokens that live. An index by ancestor would cost every exchange.
  descendants: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${JOINS}
    WHERE t.issuer_id = ? AND t.ancestors IS NOT NULL AND t.expires_at > ? AND instr(t.ancestors, ?) > 0
    ORDER BY t.expires_at DESC LIMIT ?`,

  exchanged: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${JOINS}
    WHERE t.issuer_id = ? AND t.subject = ? AND t.ancestors IS NOT NULL AND t.expires_at > ?
    ORDER BY t.expires_at DESC LIMIT ?`,

  exchangeEnd: `
    SELECT ended_at_ms FROM exchange_ends
    WHERE issuer_id = :issuerId AND client_id = :clientId AND subject = :subject`,

  basis: `
    SELECT ${basisIn(REFRESH_BASIS)} FROM tokens t ${JOINS}
    WHERE t.issuer_id = ? AND t.id = ? AND t.kind = 'refresh_token'`,

  supersede: `
    UPDATE tokens SET superseded_at_ms = :nowMs, successor_id = :successorId
    WHERE issuer_id = :issuerId AND id = :id AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL`,

  revoke: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND revoked_at_ms IS NULL`,

  revokePair: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND pair_id = :pairId AND revoked_at_ms IS NULL`,

  revokeFamily: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND family_id = :familyId AND revoked_at_ms IS NULL`,

  // Revoked ones too: an earlier attempt may have revoked the refresh token but not its pair.
  getCurrentOfFamily: `
    SELECT id, pair_id FROM tokens
    WHERE issuer_id = :issuerId AND family_id = :familyId AND kind = 'refresh_token' AND superseded_at_ms IS NULL`,
};

/** The part of a refresh token's row that revocation by family needs. */
type CurrentRow = { readonly id: string; readonly pair_id: string | null };

export function sqliteTokens(
  { database, issuerId, clock, transaction, reads }: SqliteHandle,
  parts: {
    readonly issuing: SqliteIssuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly events: Events;
    readonly cache: CachedTokens;
    readonly take: Take;
  },
): IssuingTokenRepository & Looks<TokenRecord> {
  const { issuing, grants, principals, events, cache, take } = parts;
  const { getAccessToken, getRefreshToken, basis, descendants, exchanged, ...others } = TOKENS_SQL;
  const sql = prepareAll(database, others);

  const accessTokenRow = returningLists<RowList>(database.prepare(getAccessToken));
  const refreshTokenRow = returningLists<RowList>(database.prepare(getRefreshToken));
  const findBasis = basisFinder<Pick<TokenRecord, keyof typeof REFRESH_BASIS>>(
    database.prepare(basis),
    REFRESH_BASIS,
  );
  const descendantRows = returningLists<RowList>(database.prepare(descendants));
  const exchangedRows = returningLists<RowList>(database.prepare(exchanged));
  const recordOf = (row: RowList | undefined) => row && toTokenRecord(row);
  const cached = (row: RowList | undefined) => row && cache.add(toTokenRecord(row));
  const look = (id: string) => cache.get(id) ?? cached(accessTokenRow.get(issuerId, id));
  const findRefreshToken = (id: string) => recordOf(refreshTokenRow.get(issuerId, id));
  /** Whether all ancestors of a token are alive. @param endedAtMs as for `canBeExchanged` */
  const hasLivingAncestors = ({ ancestors = [] }: Pick<NewToken, 'ancestors'>, endedAtMs?: number): boolean =>
    ancestors.every(({ kind, id }) => {
      const row = (kind === 'access_token' ? accessTokenRow : refreshTokenRow).get(issuerId, id);
      return canBeExchanged(recordOf(row), clock(), endedAtMs);
    });
  const isExchangeable = (token: NewToken): boolean => {
    const { clientId, subject = null } = token;
    const end = sql.exchangeEnd.get({ issuerId, clientId, subject })?.ended_at_ms;
    return hasLivingAncestors(token, end === undefined ? undefined : Number(end));
  };

  /** @returns how many tokens were revoked */
  const revokePair = (id: string, pairId: string | undefined | null): number => {
    const itself = sql.revoke.run({ issuerId, id, nowMs: clock() }).changes;
    if (pairId === undefined || pairId === null) return Number(itself);
    return Number(itself) + Number(sql.revokePair.run({ issuerId, pairId, nowMs: clock() }).changes);
  };

  const revokeFamily = (familyId: string): number =>
    Number(sql.revokeFamily.run({ issuerId, familyId, nowMs: clock() }).changes);

  /** Revokes the refresh token that could issue the access token again. */
  const revokeCurrentOfFamily = (familyId: string): number => {
    const rows = sql.getCurrentOfFamily.all({ issuerId, familyId }) as CurrentRow[];
    return rows.reduce((count, row) => count + revokePair(row.id, row.pair_id), 0);
  };

  /** Revokes all tokens of the refresh token's grant (RFC 7009 §2.1). @returns how many were revoked */
  const revokeGrant = (id: string, grantId: string): number => {
    const copied = findRefreshToken(id)?.standing?.grant?.copied;
    return Number(copied !== undefined && principals.raiseGrantOnce(grantId, copied));
  };

  return {
    takesOnce: true,
    keepsAncestors: true,

    look,
    getByAccessToken: (id) => reads.read(() => look(id)),
    getByRefreshToken: (id) => reads.read(() => findRefreshToken(id)),

    descendantsOf(id, limit) {
      const now = Math.floor(clock() / 1000);
      return descendantRows.all(issuerId, now, JSON.stringify(id), limit).map(toTokenRecord);
    },

    exchangedFor(subject, limit) {
      const nowMs = clock();
      const found = exchangedRows.all(issuerId, subject, Math.floor(nowMs / 1000), limit).map(toTokenRecord);
      return found.filter((token) => canContinue(token, nowMs) && hasLivingAncestors(token));
    },

    isRefreshTokenRevoked(record) {
      return record.revokedAtMs !== undefined;
    },

    revoke({ id, kind, pairId, familyId, grantId, clientId, subject }) {
      return transaction((origin) => {
        let revoked = revokePair(id, pairId);
        if (kind === 'refresh_token' && grantId !== undefined) revoked += revokeGrant(id, grantId);
        if (kind === 'access_token' && familyId !== undefined) revoked += revokeCurrentOfFamily(familyId);
        if (revoked > 0) events.add('token_revoked', { target: id, clientId, subject }, origin);
      });
    },

    revokeFamily({ id, pairId, familyId, clientId, subject }, reason) {
      return transaction((origin) => {
        const revoked = revokePair(id, pairId) + (familyId === undefined ? 0 : revokeFamily(familyId));
        if (revoked > 0) {
          const facts = { target: familyId ?? id, clientId, subject, reason };
          events.add('family_revoked', facts, ofEnding(origin, reason));
        }
      });
    },

    issue(tokens, { clientGeneration = 0, leavesNoRow = false }) {
      return transaction((origin) => {
        if (!tokens.every((token) => issuing.admits(token, clientGeneration))) return 'refused';
        if (!tokens.every((token) => !token.ancestors || isExchangeable(token))) return 'refused';
        if (!leavesNoRow) issuing.insert(tokens);
        for (const token of tokens) if (!token.ancestors) grants.begin(token);
        issuing.record(tokens, 'client', origin);
        return 'issued';
      });
    },

    rotate({ id }, successor, tokens, once) {
      return transaction((origin) => {
        const presented = findBasis(issuerId, id);
        const outcome = outcomeUpon(presented, tokens, clock());
        if (outcome !== 'issued') return outcome;
        if (once !== undefined && !take(once)) return 'already_used';
        if (sql.supersede.run({ issuerId, id, nowMs: clock(), successorId: successor.id }).changes !== 1)
          throw new Error('a refresh token changed inside the transaction that rotates it');
        issuing.insert(tokens, presented);
        issuing.record(tokens, 'refresh_token', origin);
        return outcome;
      });
    },

    issueFrom({ id }, tokens, once) {
      return transaction((origin) => {
        const presented = findBasis(issuerId, id);
        const outcome = outcomeUpon(presented, tokens, clock());
        if (outcome !== 'issued') return outcome;
        if (once !== undefined && !take(once)) return 'already_used';
        issuing.insert(tokens, presented);
        issuing.record(tokens, 'refresh_token', origin);
        return outcome;
      });
    },
  };
}

/** The columns that name the principals of a row, in the order of `GENERATIONS`. */
const PRINCIPAL_COLUMNS = ['client_id', 'subject', 'session_id', 'grant_id'] as const;

/**
 * The generations of a new row's principals, so that the statement that stores the row also copies them.
 * @param parameter the parameter with the value of a column
 */
function generations(
  parameter: (column: 'issuer_id' | (typeof PRINCIPAL_COLUMNS)[number]) => string,
): string {
  const ofPrincipal = (kind: string, id: string) =>
    `(SELECT generation FROM principals WHERE issuer_id = ${parameter('issuer_id')} AND kind = '${kind}' AND id = ${id})`;
  return `
      (SELECT generation FROM clients WHERE issuer_id = ${parameter('issuer_id')} AND id = ${parameter('client_id')}),
      ${ofPrincipal('subject', parameter('subject'))},
      ${ofPrincipal('session', parameter('session_id'))},
      ${ofPrincipal('grant', parameter('grant_id'))}`;
}

const named = (column: string) => `:${column}`;

/** Unnumbered: Node 22.18 takes `?1` for a name. */
const positional = () => '?';

const INSERT_TOKEN = `
    INSERT INTO tokens (issuer_id, ${insertedNames(TOKENS).join(', ')}, ${GENERATIONS.join(', ')})`;

export const ISSUING_SQL = {
  // Returns a row, the client's generation, only if something may be issued.
  admit: `
    SELECT c.generation
    FROM issuers i
    JOIN clients c ON c.issuer_id = i.id AND c.id = :clientId
    LEFT JOIN principals s ON s.issuer_id = i.id AND s.kind = 'subject' AND s.id = :subject
    WHERE i.id = :issuerId AND coalesce(i.not_before_ms, 0) <= :issuedAtMs
      AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL`,

  insert: `${INSERT_TOKEN} VALUES (?, ${insertedNames(TOKENS).map(positional).join(', ')}, ${generations(positional)})`,

  // The basis of the token has copied the generations.
  insertUpon: `
    ${INSERT_TOKEN} VALUES (?, ${[...insertedNames(TOKENS), ...GENERATIONS].map(positional).join(', ')})`,

  extend: `
    UPDATE principals SET keep_until = :keepUntil
    WHERE issuer_id = :issuerId AND kind = :kind AND id = :id AND keep_until < :keepUntil`,

  // In any status: the key may have retired while the token was being signed.
  extendKey: `
    UPDATE signing_keys SET needed_until = :neededUntil
    WHERE issuer_id = :issuerId AND kid = :keyId AND needed_until < :keepUntil`,
};

/** A basis, and until when its session and grant are kept, in seconds since 1970. */
type KeptBasis = IssuingBasis & { readonly keptUntil: Readonly<Record<'session' | 'grant', number>> };

/** @param statement reads `basisIn` the columns */
function basisFinder<T>(statement: StatementSync, columns: AnyColumns) {
  const rows = returningLists<RowList>(statement);
  const read = standingReader<T>(columns);
  return (issuerId: number, id: string) => {
    const row = rows.get(issuerId, id);
    return row && { ...read(row), keptUntil: { session: Number(row.at(-2)), grant: Number(row.at(-1)) } };
  };
}

interface SqliteIssuing extends Issuing {
  insert(tokens: readonly NewToken[], basis?: KeptBasis): void;
  /** Records an issuance, if the store records any. @param basis what the tokens were issued upon */
  record(tokens: readonly NewToken[], basis: TokenBasis, origin: EventOrigin | undefined): void;
}

/** How tokens enter the store. Everything here runs inside a caller's transaction. */
export function sqliteIssuing(
  { database, issuerId, recordsIssuance }: SqliteHandle,
  { principals, events }: { readonly principals: Principals; readonly events: Events },
): SqliteIssuing {
  const { insert, insertUpon, ...others } = ISSUING_SQL;
  const sql = prepareAll(database, others);
  const insertion = database.prepare(insert);
  const insertionUpon = database.prepare(insertUpon);
  /** Keeps the session and grant of a live refresh token or code, as `Principals.keep` does. */
  const extendPrincipals = (basis: KeptBasis, keepUntil: number): void => {
    for (const kind of ['session', 'grant'] as const)
      if (basis.keptUntil[kind] < keepUntil)
        sql.extend.run({ issuerId, kind, id: basis[`${kind}Id`] ?? null, keepUntil: endOfDay(keepUntil) });
  };
  return {
    admits({ clientId, subject, issuedAtMs }, clientGeneration) {
      const client = sql.admit.get({ issuerId, clientId, subject: subject ?? null, issuedAtMs });
      return client?.generation === clientGeneration;
    },
    insert(tokens, basis) {
      requireGrantsBehindTies(tokens);
      if (basis === undefined) principals.keep(tokens);
      else extendPrincipals(basis, latest(tokens));
      for (const token of tokens) {
        if (basis === undefined) insertion.run(...tokenValues(issuerId, token));
        else insertionUpon.run(issuerId, ...insertedValues(TOKENS, token), ...copiedBy(token, basis));
        const { keyId, keepUntil } = token;
        if (keyId === undefined) continue;
        sql.extendKey.run({ issuerId, keyId, keepUntil, neededUntil: endOfDay(keepUntil) });
      }
    },
    record(tokens, basis, origin) {
      const facts = recordsIssuance && origin !== undefined ? issuanceOf(tokens, basis) : undefined;
      if (facts !== undefined) events.add(facts.type, facts, origin);
    },
  };
}

const PRINCIPAL_PLACES = PRINCIPAL_COLUMNS.map((column) => insertedNames(TOKENS).indexOf(column));

/** The parameters of the statement that stores a token. */
export function tokenValues(issuerId: number, token: NewToken): readonly WrittenValue[] {
  const values = insertedValues(TOKENS, token);
  const principals = PRINCIPAL_PLACES.flatMap((at) => [issuerId, values[at] ?? null]);
  return [issuerId, ...values, ...principals];
}

const PRINCIPAL_MEMBERS = [
  ['client', 'clientId'],
  ['subject', 'subject'],
  ['session', 'sessionId'],
  ['grant', 'grantId'],
] as const;

/** The generations of a token's principals, in the order of `GENERATIONS`. */
function copiedBy(token: NewToken, { standing }: IssuingBasis): readonly (number | null)[] {
  return PRINCIPAL_MEMBERS.map(([principal, member]) =>
    token[member] === undefined ? null : (standing?.[principal]?.copied ?? null),
  );
}

export const GRANTS_SQL = {
  begin: `
    INSERT INTO grants AS known (issuer_id, ${insertedNames(GRANTS).join(', ')}, ${GENERATIONS.join(', ')})
    VALUES (:issuer_id, ${insertedNames(GRANTS).map(named).join(', ')}, ${generations(named)})
    ${ON_KNOWN_GRANT}`,

  ofSubject: forSqlite(GRANTS_OF_SUBJECT),
  // In one transaction, so nothing is issued meanwhile upon another grant.
  toRevoke: forSqlite(`SELECT t.grant_id ${USABLE_GRANTS} AND t.client_id = :clientId`),
  noteExchangeEnd: forSqlite(NOTE_EXCHANGE_END),
  endExchanges: forSqlite(END_EXCHANGES),
};

export interface Grants extends Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'> {
  /**
   * Stores a user's grant with its first code or token, inside the caller's transaction. A later one replaces it only
   * if it has ended.
   */
  begin(first: GrantBeginning): void;
}

export function sqliteGrants(
  { database, issuerId, clock, transaction }: SqliteHandle,
  parts: { readonly principals: Principals; readonly events: Events },
): Grants {
  const { principals, events } = parts;
  const sql = prepareAll(database, GRANTS_SQL);
  return {
    begin({ grantId: id, clientId, subject, scopes, sessionId, issuedAtMs: createdAtMs }) {
      if (id === undefined || subject === undefined) return;
      const grant = {
        id,
        clientId,
        subject,
        scopes,
        ...(sessionId !== undefined && { sessionId }),
        createdAtMs,
      };
      sql.begin.run({ issuer_id: issuerId, ...insertedRow(GRANTS, grant) });
    },

    grantsOf(subject) {
      const rows = sql.ofSubject.all({ issuerId, subject, now: Math.floor(clock() / 1000) }) as RowObject[];
      return rows.map(toUsableGrant);
    },

    revokeGrants(subject, clientId, reason) {
      return transaction((origin) => {
        const nowMs = clock();
        const now = Math.floor(nowMs / 1000);
        const ended = sql.toRevoke.all({ issuerId, subject, clientId, now });
        for (const { grant_id: grantId } of ended) {
          const target = String(grantId);
          principals.raise('grant', target);
          events.add('grant_revoked', { target, clientId, subject, reason }, origin);
        }
        const parties = { issuerId, subject, clientId, nowMs };
        sql.noteExchangeEnd.run(parties);
        const exchanged = Number(sql.endExchanges.run({ ...parties, now }).changes);
        if (exchanged > 0) events.add('exchanges_revoked', { target: clientId, clientId, subject }, origin);
        return ended.length + exchanged;
      });
    },
  };
}

export const AUTHORIZATION_CODES_SQL = {
  get: `
    SELECT ${CODE_COLUMNS} FROM authorization_codes t ${JOINS}
    WHERE t.issuer_id = ? AND t.id = ?`,

  basis: `
    SELECT ${basisIn(CODE_BASIS)} FROM authorization_codes t ${JOINS}
    WHERE t.issuer_id = ? AND t.id = ?`,

  insert: `
    INSERT INTO authorization_codes (issuer_id, ${insertedNames(AUTHORIZATION_CODES).join(', ')},
      ${GENERATIONS.join(', ')})
    VALUES (:issuer_id, ${insertedNames(AUTHORIZATION_CODES).map(named).join(', ')}, ${generations(named)})`,

  redeem: `
    UPDATE authorization_codes SET redeemed_at_ms = :nowMs, keep_until = max(keep_until, :keepUntil)
    WHERE issuer_id = :issuerId AND id = :id AND redeemed_at_ms IS NULL AND revoked_at_ms IS NULL`,

  revoke: `
    UPDATE authorization_codes SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND revoked_at_ms IS NULL`,
};

export function sqliteAuthorizationCodes(
  { database, issuerId, clock, transaction, reads, recordsIssuance }: SqliteHandle,
  parts: {
    readonly issuing: SqliteIssuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly events: Events;
    readonly take: Take;
  },
): AuthorizationCodeRepository {
  const { issuing, grants, principals, events, take } = parts;
  const { get, basis, ...others } = AUTHORIZATION_CODES_SQL;
  const sql = prepareAll(database, others);

  const codeRow = returningLists<RowList>(database.prepare(get));
  const findBasis = basisFinder<Pick<AuthorizationCodeRecord, keyof typeof CODE_BASIS>>(
    database.prepare(basis),
    CODE_BASIS,
  );
  const recordOf = (row: RowList | undefined) => row && toCodeRecord(row);
  const find = (id: string) => recordOf(codeRow.get(issuerId, id));

  return {
    takesOnce: true,

    get: (id) => reads.read(() => find(id)),

    issue(code, { clientGeneration = 0 }) {
      return transaction((origin) => {
        if (!issuing.admits(code, clientGeneration)) return 'refused';
        principals.keep([{ ...code, keepUntil: code.expiresAt }]);
        sql.insert.run({ issuer_id: issuerId, ...insertedRow(AUTHORIZATION_CODES, keptCode(code)) });
        grants.begin(code);
        const { id: target, clientId, subject } = code;
        if (recordsIssuance && origin !== undefined)
          events.add('code_issued', { target, clientId, subject }, origin);
        return 'issued';
      });
    },

    redeem({ id }, tokens, once) {
      return transaction((origin) => {
        const stored = findBasis(issuerId, id);
        const outcome = outcomeUponCode(stored, tokens, clock());
        if (outcome !== 'issued') return outcome;
        if (once !== undefined && !take(once)) return 'already_used';
        const marked = sql.redeem.run({ issuerId, id, nowMs: clock(), keepUntil: latest(tokens) }).changes;
        if (marked !== 1) throw new Error('a code changed inside the transaction that redeems it');
        issuing.insert(tokens, stored);
        issuing.record(tokens, 'authorization_code', origin);
        return outcome;
      });
    },

    revoke({ id, grantId, clientId, subject }, reason) {
      return transaction((origin) => {
        const copied = find(id)?.standing?.grant?.copied;
        if (copied === undefined) return;
        const marked = sql.revoke.run({ issuerId, id, nowMs: clock() }).changes === 1;
        const raised = principals.raiseGrantOnce(grantId, copied);
        const facts = { target: id, clientId, subject, reason };
        if (marked || raised) events.add('code_revoked', facts, ofEnding(origin, reason));
      });
    },
  };
}
