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
  outcomeUpon,
  outcomeUponCode,
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
  takeIdentifier,
  toCodeRecord,
  toGrantRecord,
  toTokenRecord,
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
import { IS_FIRST_USE } from './keys.ts';
import { hasLivingAncestors, type PostgresHandle } from './lookups.ts';
import { type Found, underLease } from './primary.ts';
import type { Principals } from './principals.ts';

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
 * Stores tokens on the basis of the refresh token or code `$3`, if it is alive at `$4`, in milliseconds. They name no
 * other principals than their basis and copy its generations: one that was raised since is ahead of them as well. Their
 * session and grant outlive them as by `principalsBehind`. The rules are those of `outcomeUpon`. Takes the identifier
 * `$5` until `$6`, in seconds, if there is one. If it was used before, nothing is stored upon what was `found`.
 * @param from the table of the basis, `t`
 * @param isUnused whether `t` may still be used
 * @param event the parameter with the event
 * @param use sets columns of the basis; without it the basis stays as it is
 */
function storeUpon(
  from: 'tokens' | 'authorization_codes',
  isUnused: string,
  event: string,
  use?: string,
): string {
  const copied = (kind: 'subject' | 'session' | 'grant', column: string) =>
    `CASE WHEN n.${column} IS NOT NULL THEN b.${kind}_generation END AS ${kind}_generation`;
  return `
  WITH ${FRESH},
  found AS (
    SELECT t.* FROM grantd.${from} t ${STANDING_JOINS}
    WHERE t.issuer_id = $1 AND t.id = $3 AND ${isUnused} AND ${isAlive('$4::bigint / 1000')}
      AND NOT EXISTS (
        SELECT 1 FROM fresh n WHERE n.issued_at_ms < coalesce(i.not_before_ms, 0) OR NOT (${SAME_PRINCIPALS}))
    FOR UPDATE OF t),
  taken AS (${takeIdentifier('SELECT $1, $5::text, $6::bigint FROM found WHERE $5 IS NOT NULL', '$4::bigint / 1000')} RETURNING ${IS_FIRST_USE}),
  basis AS (SELECT * FROM found WHERE $5 IS NULL OR EXISTS (SELECT 1 FROM taken WHERE is_first)),
  ${use === undefined ? '' : `used AS (UPDATE grantd.${from} t SET ${use} FROM basis b WHERE t.issuer_id = $1 AND t.id = b.id),`}
  admitted AS (
    SELECT n.*, b.client_generation, ${copied('subject', 'subject')}, ${copied('session', 'session_id')},
      ${copied('grant', 'grant_id')}
    FROM fresh n CROSS JOIN basis b),
  kept_grant AS (${kept('grant', 'grant_id', 'keep_until')}),
  kept_session AS (${kept('session', 'session_id', 'end_of_day')}),
  ${STORE},
  recorded AS (${insertEvent(event, { each: '(SELECT 1 FROM stored LIMIT 1) one' })})
  -- Sessions are locked before signing keys: what the statement reads here runs before the rest.
  SELECT count(*) AS stored, (SELECT count(*) FROM found) AS found, (SELECT count(*) FROM kept_session) AS kept
  FROM basis`;
}

/** Whether a token `n` names no other principals than its basis `t`. */
const SAME_PRINCIPALS = ['client_id', 'subject', 'session_id', 'grant_id']
  .map((column) => `coalesce(n.${column} = t.${column}, n.${column} IS NULL)`)
  .join(' AND ');

/** Keeps the row of the principal, of which the admitted tokens have one at most, for as long as `until` says. */
const kept = (kind: 'session' | 'grant', column: string, until: string) => {
  const latest = `(SELECT max(${until}) FROM admitted WHERE ${column} IS NOT NULL)`;
  return `
    UPDATE grantd.principals SET keep_until = ${latest}
    WHERE issuer_id = $1 AND kind = '${kind}' AND id = (SELECT max(${column}) FROM admitted) AND keep_until < ${latest}
    RETURNING 1`;
};

const IS_CURRENT_REFRESH_TOKEN = "t.kind = 'refresh_token' AND t.superseded_at_ms IS NULL";

/**
 * Tokens as the parameter `$2`.
 * @throws {ContractBreach} a token is tied to others without a grant
 */
export function asParameter(tokens: readonly NewToken[]): string {
  requireGrantsBehindTies(tokens);
  return JSON.stringify(
    tokens.map((token) => ({
      ...insertedRow(TOKENS, token),
      end_of_day: endOfDay(token.keepUntil),
    })),
  );
}

/** The outcome of a statement that stores tokens. */
export function outcomeOf(result: PostgresResult | undefined): IssueOutcome {
  const [row] = rowsOf<{ stored: number }>(result);
  return row !== undefined && row.stored > 0 ? 'issued' : 'refused';
}

/** The outcome of a statement of `storeUpon`. */
function outcomeUponBasis(result: PostgresResult | undefined): IssueOutcome | 'already_used' {
  const outcome = outcomeOf(result);
  const [row] = rowsOf<{ found: number }>(result);
  return outcome === 'refused' && row !== undefined && row.found > 0 ? 'already_used' : outcome;
}

/** The identifier to be taken, as the parameters `$5` and `$6`. */
function parametersOf(once: OneTimeUse | undefined): readonly [string | null, number | null] {
  return [once?.id ?? null, once?.expiresAt ?? null];
}

/** One row if something was revoked or raised. */
const CHANGED_REVOKED =
  '(SELECT 1 WHERE EXISTS (SELECT 1 FROM revoked) OR EXISTS (SELECT 1 FROM raised)) changed';

/**
 * Makes a statement that revokes the tokens whose identifiers `selected` returns, and writes the event if that, or
 * `raised`, changed something. `$1` issuer, `$2` now, `$3` the token, `$4` its pair, `$5` the event, `$6` its
 * family.
 */
const revocationOf = (selected: string, raised = 'SELECT 1 WHERE false') => `
  WITH selected AS (${selected}),
  revoked AS (
    UPDATE grantd.tokens t SET revoked_at_ms = $2 FROM selected s
    WHERE t.issuer_id = $1 AND t.id = s.id AND t.revoked_at_ms IS NULL RETURNING 1),
  raised AS (${raised})
  ${insertEvent('$5', { each: CHANGED_REVOKED })}`;

const ITSELF_AND_PAIR = `
    SELECT $3::text AS id
    UNION SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND pair_id = $4`;

/** The lock of exchanges `$1` by the client `$2` for the user `$3`. */
const EXCHANGES_OF =
  "hashtextextended(json_build_array('exchanges', $1::integer, $2::text, $3::text)::text, 0)";

// ADR 9
export const TOKENS_SQL = {
  issue: STORE_UPON_CLIENT,

  issueWithoutRow: RECORD_UPON_CLIENT,

  rotate: storeUpon('tokens', IS_CURRENT_REFRESH_TOKEN, '$8', 'superseded_at_ms = $4, successor_id = $7'),

  // Together with others that exchange, and apart from `revokeGrants`, which else would not see what is stored meanwhile.
  shareExchanges: `SELECT pg_advisory_xact_lock_shared(${EXCHANGES_OF})`,

  issueFrom: storeUpon('tokens', IS_CURRENT_REFRESH_TOKEN, '$7'),

  // Also the current refresh token of its family with its pair. Revoked ones count: their pair may still be alive.
  revokeAccessToken: revocationOf(
    `${ITSELF_AND_PAIR}
    UNION SELECT p.id FROM grantd.tokens r
    JOIN grantd.tokens p ON p.issuer_id = r.issuer_id AND p.pair_id = r.pair_id
    WHERE r.issuer_id = $1 AND r.family_id = $6 AND r.kind = 'refresh_token' AND r.superseded_at_ms IS NULL
    UNION SELECT id FROM grantd.tokens
    WHERE issuer_id = $1 AND family_id = $6 AND kind = 'refresh_token' AND superseded_at_ms IS NULL`,
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

  // RFC 7009 §2.1: revoking a refresh token revokes all tokens of its grant, unless the grant was revoked since.
  revokeRefreshToken: revocationOf(
    ITSELF_AND_PAIR,
    `UPDATE grantd.principals p SET generation = p.generation + 1, raised_at_ms = $2
     FROM grantd.tokens t
     WHERE t.issuer_id = $1 AND t.id = $3 AND p.issuer_id = $1 AND p.kind = 'grant' AND p.id = t.grant_id
       AND p.generation = t.grant_generation
     RETURNING 1`,
  ),

  revokeFamily: revocationOf(
    `${ITSELF_AND_PAIR} UNION SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND family_id = $6`,
  ),
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

  /** The common part of `rotate` and `issueFrom`. @param more parameters before the last one, the event */
  const continueFrom = async (
    statement: PostgresCall[0],
    { id, grantId }: TokenRecord,
    tokens: readonly NewToken[],
    once: OneTimeUse | undefined,
    ...more: readonly string[]
  ): Promise<ContinuationOutcome> => {
    const event = issuanceEvent(handle, tokens, 'refresh_token');
    const given = [issuerId, asParameter(tokens), id, clock(), ...parametersOf(once), ...more, event];
    const outcome = await primary.write(
      [...principals.lockGrant(grantId), [statement, ...given]],
      (results) => outcomeUponBasis(results.at(-1)),
    );
    if (outcome !== 'refused') return outcome;
    return reasonToRefuse(outcomeUpon(await find('refresh_token', id), tokens, clock()), id);
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

    async revoke({ id, kind, pairId = null, familyId = null, grantId, clientId, subject }) {
      const event = eventOf(handle, 'token_revoked', { target: id, clientId, subject }, originOf());
      const common = [issuerId, clock(), id, pairId, event] as const;
      await primary.write([
        ...principals.lockGrant(grantId),
        kind === 'refresh_token'
          ? [sql.revokeRefreshToken, ...common]
          : [sql.revokeAccessToken, ...common, familyId],
      ]);
    },

    async revokeFamily({ id, pairId = null, familyId = null, grantId, clientId, subject }) {
      const facts = { target: familyId ?? id, clientId, subject };
      const event = eventOf(handle, 'family_revoked', facts, originOf());
      await primary.write([
        ...principals.lockGrant(grantId),
        [sql.revokeFamily, issuerId, clock(), id, pairId, event, familyId],
      ]);
    },

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

    rotate: (record, successor, tokens, once) => continueFrom(sql.rotate, record, tokens, once, successor.id),
    issueFrom: (record, tokens, once) => continueFrom(sql.issueFrom, record, tokens, once),
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
        rowsOf<RowObject>(found).map(toGrantRecord),
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

  redeem: storeUpon(
    'authorization_codes',
    't.redeemed_at_ms IS NULL',
    '$8',
    'redeemed_at_ms = $4, keep_until = greatest(t.keep_until, $7)',
  ),

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

    async redeem({ id, grantId }, tokens, once) {
      const redeem: PostgresCall = [
        sql.redeem,
        issuerId,
        asParameter(tokens),
        id,
        clock(),
        ...parametersOf(once),
        latest(tokens),
        issuanceEvent(handle, tokens, 'authorization_code'),
      ];
      const outcome = await primary.write([...principals.lockGrant(grantId), redeem], (results) =>
        outcomeUponBasis(results.at(-1)),
      );
      if (outcome !== 'refused') return outcome;
      return reasonToRefuse(outcomeUponCode(await get(id), tokens, clock()), id);
    },

    async revoke({ id, grantId, clientId, subject }) {
      const event = eventOf(handle, 'code_revoked', { target: id, clientId, subject }, originOf());
      await primary.write([...principals.lockGrant(grantId), [sql.revoke, issuerId, id, clock(), event]]);
    },
  };
}
