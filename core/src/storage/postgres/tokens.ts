// Tokens, grants and codes in PostgreSQL.
import { StorageFault } from '../../http/errors.ts';
import type { AuthorizationCodeRecord, NewToken, TokenKind, TokenRecord } from '../../protocol/records.ts';
import {
  AUTHORIZATION_CODES,
  insertedNames,
  insertedRow,
  postgresDefinitions,
  type RowObject,
  TOKENS,
} from '../columns.ts';
import type {
  AdministrableStorage,
  AuthorizationCodeRepository,
  ContinuationOutcome,
  IssueOutcome,
  IssuingTokenRepository,
  OneTimeUse,
} from '../contract.ts';
import {
  endOfDay,
  issuanceOf,
  keptCode,
  latest,
  ofEnding,
  outcomeUpon,
  outcomeUponCode,
  PRINCIPAL_MEMBERS,
  principalsBehind,
  requireGrantsBehindTies,
  type TokenBasis,
} from '../issuing.ts';
import {
  CODE_COLUMNS,
  END_EXCHANGES,
  forPostgres,
  GENERATIONS,
  GRANT_DESCRIPTION,
  GRANTS_OF_SUBJECT,
  isAlive,
  NOTE_EXCHANGE_END,
  ON_KNOWN_GRANT,
  STANDING_JOINS,
  TOKEN_COLUMNS,
  toCodeRecord,
  toTokenRecord,
  toUsableGrant,
  UNREVOKED_GRANTS,
} from '../statements.ts';
import {
  changesOf,
  isStorable,
  namedStatements,
  type PostgresCall,
  type PostgresResult,
  rowsOf,
} from './connections.ts';
import { auditedEventOf, eventOf, insertEvent } from './events.ts';
import { hasLivingAncestors, type PostgresHandle } from './lookups.ts';
import { type Found, underLease } from './primary.ts';
import type { Principals } from './principals.ts';
import { FUNCTIONS } from './schema.ts';

const COLUMNS = insertedNames(TOKENS).join(', ');

/** The tokens to be stored, `$2`: one parameter however many there are. */
const FRESH = `fresh AS (
    SELECT * FROM json_to_recordset($2) AS n (${postgresDefinitions(TOKENS)}, end_of_day bigint))`;

/** Stores the rows of `admitted`, and keeps the keys that signed them for as long. */
const STORE = `stored AS (
    INSERT INTO grantd.tokens (issuer_id, ${COLUMNS}, ${GENERATIONS.join(', ')})
    SELECT $1, ${COLUMNS}, ${GENERATIONS.join(', ')}
    FROM admitted WHERE (SELECT count(*) FROM admitted) = (SELECT count(*) FROM fresh)
    RETURNING *),
  extended AS (
    UPDATE grantd.signing_keys k SET needed_until = s.end_of_day
    FROM (SELECT n.key_id, max(n.keep_until) AS keep_until, max(n.end_of_day) AS end_of_day
          FROM fresh n JOIN stored USING (id) GROUP BY n.key_id) s
    WHERE k.issuer_id = $1 AND k.kid = s.key_id AND k.needed_until < s.keep_until)`;

const generationOf = (kind: 'subject' | 'session' | 'grant', column: string) => `
      (SELECT p.generation FROM grantd.principals p
       WHERE p.issuer_id = $1 AND p.kind = '${kind}' AND p.id = n.${column})`;

/**
 * Selects tokens whose only basis is their client, at the generation `$3` that the caller read. They copy the
 * generations that this statement sees; one that is raised meanwhile is ahead of them. OFFSET 0 keeps lookups of
 * single rows from becoming a join, since the planner cannot know how few tokens the parameter holds.
 */
const ADMITTED_UPON_CLIENT = `
  WITH ${FRESH},
  admitted AS (
    SELECT n.*, c.generation AS client_generation, s.generation AS subject_generation,
      ${generationOf('session', 'session_id')} AS session_generation,
      ${generationOf('grant', 'grant_id')} AS grant_generation
    FROM fresh n
    JOIN grantd.issuers i ON i.id = $1
    JOIN LATERAL (
      SELECT generation, disabled_at_ms FROM grantd.clients
      WHERE issuer_id = $1 AND id = n.client_id OFFSET 0) c ON true
    LEFT JOIN LATERAL (
      SELECT generation, disabled_at_ms FROM grantd.principals
      WHERE issuer_id = $1 AND kind = 'subject' AND id = n.subject OFFSET 0) s ON true
    WHERE coalesce(i.not_before_ms, 0) <= n.issued_at_ms
      AND c.generation = $3 AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL
      AND ${hasLivingAncestors(
        'n',
        'n.issued_at_ms / 1000',
        `
          AND (t.kind = 'refresh_token' OR t.issued_at_ms > coalesce((
            SELECT ended_at_ms FROM grantd.exchange_ends
            WHERE issuer_id = $1 AND client_id = n.client_id AND subject = n.subject), 0))`,
      )})`;

const STORE_UPON_CLIENT = `${ADMITTED_UPON_CLIENT},
  ${STORE},
  begun AS (${beginGrants('(SELECT * FROM stored WHERE ancestors IS NULL) first')}),
  recorded AS (${insertEvent('$4', { each: '(SELECT 1 FROM stored LIMIT 1) one' })})
  SELECT count(*) AS stored FROM stored`;

/** Records the issuance of what leaves no row. */
const RECORD_UPON_CLIENT = `${ADMITTED_UPON_CLIENT},
  recorded AS (${insertEvent('$4', { each: '(SELECT 1 FROM admitted LIMIT 1) one' })})
  SELECT count(*) AS stored FROM admitted`;

/**
 * Tokens as the parameter `$2`.
 * @throws {ContractBreach} a token is tied to others without a grant
 */
function rowsOfNew(tokens: readonly NewToken[]): readonly RowObject[] {
  requireGrantsBehindTies(tokens);
  return tokens.map((token) => ({
    ...insertedRow(TOKENS, token),
    end_of_day: endOfDay(token.keepUntil),
  }));
}

export const asParameter = (tokens: readonly NewToken[]): string => JSON.stringify(rowsOfNew(tokens));

/** The outcome of a statement that stores tokens. */
export function outcomeOf(result: PostgresResult | undefined): IssueOutcome {
  const [row] = rowsOf<{ stored: number }>(result);
  return row !== undefined && row.stored > 0 ? 'issued' : 'refused';
}

type Parties = Pick<TokenRecord, 'clientId' | 'subject' | 'sessionId' | 'grantId'>;

/** The parameters of the functions that store tokens upon a token or code, in order. */
const UPON = (used: string) =>
  `id text, now bigint, client_id text, subject text, session_id text, grant_id text, tokens json, issued bigint,
  grant_until bigint, session_until bigint, keys text[], keys_until bigint[], once text, once_until bigint,
  used ${used}, event json`;

/**
 * What `UPON` names. The functions refuse tokens that name other principals, whose basis is then no client's, and
 * `outcomeUpon` says why.
 * @param used what the basis keeps of its use
 */
function parametersUpon(
  handle: PostgresHandle,
  parties: Parties & { readonly id: string },
  tokens: readonly NewToken[],
  basis: TokenBasis,
  once: OneTimeUse | undefined,
  used: string | number | null,
) {
  const { id, clientId, subject, sessionId, grantId } = parties;
  const isOfBasis = PRINCIPAL_MEMBERS.every((member) =>
    tokens.every((token) => token[member] === undefined || token[member] === parties[member]),
  );
  const untilOf = (kind: 'grant' | 'session') =>
    principalsBehind(tokens).find((kept) => kept.kind === kind)?.keepUntil;
  const keys = new Map<string, number>();
  for (const { keyId, keepUntil } of tokens.toSorted((one, other) => other.keepUntil - one.keepUntil))
    if (keyId !== undefined && !keys.has(keyId)) keys.set(keyId, endOfDay(keepUntil));
  return {
    ...{ id, now: handle.clock(), client_id: isOfBasis ? clientId : null },
    ...{ subject, session_id: sessionId, grant_id: grantId, tokens: rowsOfNew(tokens) },
    issued: Math.min(...tokens.map(({ issuedAtMs }) => issuedAtMs), Number.MAX_SAFE_INTEGER),
    ...{ grant_until: untilOf('grant'), session_until: untilOf('session') },
    ...{ keys: [...keys.keys()], keys_until: [...keys.values()] },
    ...{ once: once?.id, once_until: once?.expiresAt, used },
    event: JSON.parse(issuanceEvent(handle, tokens, basis) ?? 'null'),
  };
}

/**
 * Calls a function that is a whole write, for each element of the list `$1`, one after another. It takes the locks of
 * grants before, and leaves out writes whose grant another transaction has locked, unless `$3`. OFFSET 0 makes sure that
 * a function is called once for each write that is left.
 * @param parameters names and types, between the issuer `$2` and the time to wait for locks, `$4`
 */
const callOf = (name: string, parameters: string) => {
  const values = parameters.split(/,\s+/).map((each) => `w.${each.split(' ')[0]}`);
  return `
  WITH writes AS (SELECT * FROM ROWS FROM (json_to_recordset($1) AS (${parameters})) WITH ORDINALITY),
  free AS (
    SELECT id FROM grantd.principals
    WHERE NOT $3 AND issuer_id = $2 AND kind = 'grant' AND id = ANY (ARRAY(SELECT grant_id FROM writes))
    FOR UPDATE SKIP LOCKED)
  SELECT at, (done).* FROM (
    SELECT w.ordinality AS at, grantd.${name}_${FUNCTIONS}($2, ${values.join(', ')}, $4) AS done
    FROM (
      SELECT * FROM writes WHERE $3 OR grant_id IS NULL OR grant_id = ANY (ARRAY(SELECT id FROM free)) OFFSET 0) w
    OFFSET 0) called`;
};

/** The lock of exchanges `$1` by the client `$2` for the user `$3`. */
const EXCHANGES_OF =
  "hashtextextended(json_build_array('exchanges', $1::integer, $2::text, $3::text)::text, 0)";

// ADR 9, ADR 200, ADR 208
export const TOKENS_SQL = {
  issue: STORE_UPON_CLIENT,

  issueWithoutRow: RECORD_UPON_CLIENT,

  issueUpon: callOf('issue_upon_refresh_token', UPON('text')),

  // Together with others that exchange, and apart from `revokeGrants`, which else would not see what is stored meanwhile.
  shareExchanges: `SELECT pg_advisory_xact_lock_shared(${EXCHANGES_OF})`,

  revoke: callOf(
    'revoke',
    'id text, kind text, now bigint, pair text, family text, grant_id text, event json',
  ),

  // Walks through the exchanged tokens that live. An index by ancestor would cost every exchange.
  descendants: `
    SELECT json_build_array(${TOKEN_COLUMNS}) AS found FROM grantd.tokens t ${STANDING_JOINS}
    WHERE t.issuer_id = $1 AND t.ancestors IS NOT NULL AND t.expires_at > $2 AND strpos(t.ancestors, $3) > 0
    ORDER BY t.expires_at DESC LIMIT $4`,

  exchanged: `
    SELECT json_build_array(${TOKEN_COLUMNS}) AS found
    FROM (
      SELECT * FROM grantd.tokens WHERE issuer_id = $1 AND subject = $2 AND ancestors IS NOT NULL AND expires_at > $3
      ORDER BY expires_at DESC LIMIT $4) t ${STANDING_JOINS}
    WHERE ${isAlive('$3')} AND ${hasLivingAncestors('t', '$3')}
    ORDER BY t.expires_at DESC`,
};

/**
 * Why a statement has stored nothing. What it found cannot come alive again, so a lookup afterwards finds the reason.
 * @param outcome by the rules of all stores, of what is stored now
 * @throws {StorageFault} by these rules the statement should have stored the tokens
 */
function reasonToRefuse<T>(outcome: T | 'issued', id: string): T {
  if (outcome !== 'issued') return outcome;
  throw new StorageFault(new Error(`PostgreSQL refused tokens upon ${id}, which is alive`));
}

/** @returns `null` if the store records no issuance */
function issuanceEvent(
  handle: PostgresHandle,
  tokens: readonly NewToken[],
  basis: TokenBasis,
): string | null {
  const facts = handle.recordsIssuance ? issuanceOf(tokens, basis) : undefined;
  return facts === undefined ? null : auditedEventOf(handle, facts.type, facts, handle.originOf());
}

export async function postgresTokens(
  handle: PostgresHandle,
  principals: Principals,
): Promise<IssuingTokenRepository> {
  const { primary, lookUps, issuerId, clock, originOf } = handle;
  const sql = await namedStatements(TOKENS_SQL);

  const find = async (kind: TokenKind, id: string): Promise<TokenRecord | undefined> => {
    const found = await lookUps.token(id);
    return found?.kind === kind ? found : undefined;
  };

  /** The common part of `rotate` and `issueFrom`. @param successor replaces the token, unless it is `null` */
  const continueFrom = async (
    record: TokenRecord,
    tokens: readonly NewToken[],
    once: OneTimeUse | undefined,
    successor: string | null,
  ): Promise<ContinuationOutcome> => {
    const parameters = parametersUpon(handle, record, tokens, 'refresh_token', once, successor);
    const outcome = await primary.writeOnce(sql.issueUpon, parameters);
    if (outcome === 'issued' || outcome === 'already_used') return outcome;
    return reasonToRefuse(outcomeUpon(await find('refresh_token', record.id), tokens, clock()), record.id);
  };

  const revoke = async (
    { id, pairId, familyId, grantId, clientId, subject }: TokenRecord,
    what: TokenKind | 'family',
    reason?: string,
  ): Promise<void> => {
    const [type, target] =
      what === 'family' ? (['family_revoked', familyId ?? id] as const) : (['token_revoked', id] as const);
    const facts = { target, clientId, subject, reason };
    const event = JSON.parse(eventOf(handle, type, facts, ofEnding(originOf(), reason)));
    const ties = { pair: pairId, family: familyId, grant_id: grantId };
    await primary.writeOnce(sql.revoke, { id, kind: what, now: clock(), ...ties, event });
  };

  return {
    takesOnce: true,
    keepsAncestors: true,

    getByAccessToken: (id) => find('access_token', id),
    getByRefreshToken: (id) => find('refresh_token', id),

    async descendantsOf(id, limit) {
      if (!isStorable(id)) return [];
      const now = Math.floor(clock() / 1000);
      return primary.read([sql.descendants, issuerId, now, JSON.stringify(id), limit], (result) =>
        rowsOf<{ found: string }>(result).map(({ found }) => toTokenRecord(JSON.parse(found))),
      );
    },

    async exchangedFor(subject, limit) {
      if (!isStorable(subject)) return [];
      const now = Math.floor(clock() / 1000);
      return primary.read([sql.exchanged, issuerId, subject, now, limit], (result) =>
        rowsOf<{ found: string }>(result).map(({ found }) => toTokenRecord(JSON.parse(found))),
      );
    },

    isRefreshTokenRevoked(record) {
      return record.revokedAtMs !== undefined;
    },

    revoke: (record) => revoke(record, record.kind),
    revokeFamily: (record) => revoke(record, 'family'),

    async issue(tokens, { clientGeneration = 0, leavesNoRow = false }) {
      const stored = asParameter(tokens);
      const issue = leavesNoRow ? sql.issueWithoutRow : sql.issue;
      return primary.write(
        [
          ...tokens.flatMap(({ ancestors, clientId, subject }): readonly PostgresCall[] =>
            ancestors && subject !== undefined ? [[sql.shareExchanges, issuerId, clientId, subject]] : [],
          ),
          ...principals.keep(leavesNoRow ? [] : tokens),
          [issue, issuerId, stored, clientGeneration, issuanceEvent(handle, tokens, 'client')],
        ],
        (results) => outcomeOf(results.at(-1)),
      );
    },

    rotate: (record, successor, tokens, once) => continueFrom(record, tokens, once, successor.id),
    issueFrom: (record, tokens, once) => continueFrom(record, tokens, once, null),
  };
}

/**
 * Stores a user's grant with its first code or token. A later one replaces it only if it has ended.
 * @param stored the codes or tokens that the same statement has stored
 */
function beginGrants(stored: string): string {
  const read = GRANT_DESCRIPTION.map((column) => (column === 'created_at_ms' ? 'issued_at_ms' : column));
  return `
    INSERT INTO grantd.grants AS known (issuer_id, grant_id, ${GRANT_DESCRIPTION.join(', ')})
    SELECT DISTINCT ON (grant_id) issuer_id, grant_id, ${read.join(', ')}
    FROM ${stored} WHERE grant_id IS NOT NULL AND subject IS NOT NULL ORDER BY grant_id, id
    ${ON_KNOWN_GRANT}`;
}

const OF_EXCHANGES = ['issuerId', 'subject', 'clientId', 'nowMs'];

const UNREVOKED = forPostgres(UNREVOKED_GRANTS, 'issuerId', 'subject', 'now');

export const GRANTS_SQL = {
  ofSubject: forPostgres(GRANTS_OF_SUBJECT, 'issuerId', 'subject', 'now'),

  lockExchanges: `SELECT pg_advisory_xact_lock(${EXCHANGES_OF})`,

  // In a fixed order, because other transactions may lock the same rows.
  lock: `
    SELECT 1 FROM grantd.principals WHERE issuer_id = $1 AND kind = 'grant' AND id = ANY (ARRAY(
      SELECT grant_id FROM grantd.grants WHERE issuer_id = $1 AND subject = $2 AND client_id = $3))
    ORDER BY id FOR UPDATE`,

  // A grant that was revoked before the lock was taken is visible here and not revoked again.
  revoke: `
    WITH revoked AS (
      UPDATE grantd.principals SET generation = generation + 1, raised_at_ms = $5
      WHERE issuer_id = $1 AND kind = 'grant' AND id = ANY (ARRAY(
        SELECT t.grant_id ${UNREVOKED} AND t.client_id = $4))
      RETURNING id)
    ${insertEvent('$6', { each: 'revoked', target: 'revoked.id' })}`,

  noteExchangeEnd: forPostgres(NOTE_EXCHANGE_END, ...OF_EXCHANGES),

  endExchanges: `
    WITH ended AS (${forPostgres(END_EXCHANGES, ...OF_EXCHANGES, 'now')} RETURNING 1),
    recorded AS (${insertEvent('$6', { each: '(SELECT 1 FROM ended LIMIT 1) one' })})
    SELECT count(*)::integer AS ended FROM ended`,
};

export async function postgresGrants(
  handle: PostgresHandle,
): Promise<Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'>> {
  const { primary, issuerId, clock, originOf } = handle;
  const sql = await namedStatements(GRANTS_SQL);
  return {
    async grantsOf(subject) {
      if (!isStorable(subject)) return [];
      return primary.read([sql.ofSubject, issuerId, subject, Math.floor(clock() / 1000)], (found) =>
        rowsOf<RowObject>(found).map(toUsableGrant),
      );
    },

    async revokeGrants(subject, clientId, reason) {
      if (!isStorable(subject) || !isStorable(clientId)) return 0;
      const nowMs = clock();
      const now = Math.floor(nowMs / 1000);
      const origin = originOf();
      const event = eventOf(handle, 'grant_revoked', { target: '', clientId, subject, reason }, origin);
      const ended = eventOf(handle, 'exchanges_revoked', { target: clientId, clientId, subject }, origin);
      const parties = [issuerId, subject, clientId, nowMs] as const;
      return primary.write(
        [
          [sql.lockExchanges, issuerId, clientId, subject],
          [sql.lock, issuerId, subject, clientId],
          [sql.revoke, issuerId, subject, now, clientId, nowMs, event],
          [sql.noteExchangeEnd, ...parties],
          [sql.endExchanges, ...parties, now, ended],
        ],
        ([, , revoked, , exchanged]) =>
          changesOf(revoked) + (rowsOf<{ ended: number }>(exchanged)[0]?.ended ?? 0),
      );
    },
  };
}

export const AUTHORIZATION_CODES_SQL = {
  get: underLease(`
    SELECT json_build_array(${CODE_COLUMNS}) AS found
    FROM grantd.authorization_codes t ${STANDING_JOINS}
    WHERE t.issuer_id = $1 AND t.id = $2`),

  issue: `
    WITH issued AS (
      INSERT INTO grantd.authorization_codes (issuer_id, ${insertedNames(AUTHORIZATION_CODES).join(', ')},
        ${GENERATIONS.join(', ')})
      SELECT $1, n.*, c.generation, s.generation, e.generation, g.generation
      FROM json_to_record($2) AS n (${postgresDefinitions(AUTHORIZATION_CODES)})
      JOIN grantd.issuers i ON i.id = $1
      JOIN grantd.clients c ON c.issuer_id = $1 AND c.id = n.client_id
      JOIN grantd.principals s ON s.issuer_id = $1 AND s.kind = 'subject' AND s.id = n.subject
      JOIN grantd.principals g ON g.issuer_id = $1 AND g.kind = 'grant' AND g.id = n.grant_id
      LEFT JOIN grantd.principals e ON e.issuer_id = $1 AND e.kind = 'session' AND e.id = n.session_id
      WHERE coalesce(i.not_before_ms, 0) <= n.issued_at_ms
        AND c.generation = $3 AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL
      RETURNING *),
    begun AS (${beginGrants('issued')}),
    recorded AS (${insertEvent('$4', { each: 'issued' })})
    SELECT 1 FROM issued`,

  redeem: callOf('redeem', UPON('bigint')),

  revoke: `
    WITH code AS (
      SELECT id, grant_id, grant_generation FROM grantd.authorization_codes WHERE issuer_id = $1 AND id = $2),
    marked AS (
      UPDATE grantd.authorization_codes c SET revoked_at_ms = $3 FROM code
      WHERE c.issuer_id = $1 AND c.id = code.id AND c.revoked_at_ms IS NULL RETURNING 1),
    raised AS (
      UPDATE grantd.principals p SET generation = p.generation + 1, raised_at_ms = $3 FROM code
      WHERE p.issuer_id = $1 AND p.kind = 'grant' AND p.id = code.grant_id
        AND p.generation = code.grant_generation RETURNING 1)
    ${insertEvent('$4', {
      each: '(SELECT 1 WHERE EXISTS (SELECT 1 FROM marked) OR EXISTS (SELECT 1 FROM raised)) changed',
    })}`,
};

export async function postgresAuthorizationCodes(
  handle: PostgresHandle,
  principals: Principals,
): Promise<AuthorizationCodeRepository> {
  const { primary, issuerId, clock, originOf, recordsIssuance } = handle;
  const sql = await namedStatements(AUTHORIZATION_CODES_SQL);
  const get = async (id: string): Promise<AuthorizationCodeRecord | undefined> => {
    if (!isStorable(id)) return undefined;
    return primary.readUnderLease([sql.get, issuerId, id], ({ found }: Found<{ found: string }, 'found'>) =>
      found === null ? undefined : toCodeRecord(JSON.parse(found)),
    );
  };

  return {
    takesOnce: true,

    get,

    async issue(code, { clientGeneration = 0 }) {
      const stored = JSON.stringify(insertedRow(AUTHORIZATION_CODES, keptCode(code)));
      const { id: target, clientId, subject } = code;
      const origin = recordsIssuance ? originOf() : undefined;
      const event = auditedEventOf(handle, 'code_issued', { target, clientId, subject }, origin);
      return primary.write(
        [
          ...principals.keep([{ ...code, keepUntil: code.expiresAt }]),
          [sql.issue, issuerId, stored, clientGeneration, event],
        ],
        (results) => (rowsOf(results.at(-1)).length === 1 ? 'issued' : 'refused'),
      );
    },

    async redeem(code, tokens, once) {
      const parameters = parametersUpon(handle, code, tokens, 'authorization_code', once, latest(tokens));
      const outcome = await primary.writeOnce(sql.redeem, parameters);
      if (outcome === 'issued' || outcome === 'already_used') return outcome;
      return reasonToRefuse(outcomeUponCode(await get(code.id), tokens, clock()), code.id);
    },

    async revoke({ id, grantId, clientId, subject }, reason) {
      const facts = { target: id, clientId, subject, reason };
      const event = eventOf(handle, 'code_revoked', facts, ofEnding(originOf(), reason));
      await primary.write([...principals.lockGrant(grantId), [sql.revoke, issuerId, id, clock(), event]]);
    },
  };
}
