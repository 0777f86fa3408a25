import type { Mortal } from '../../../protocol/life.ts';
import type { NewToken } from '../../../protocol/records.ts';
import type { IssueOutcome } from '../../contract.ts';
import { keyNeededUntil } from '../../retention.ts';
import { requireGrantsBehindTies } from '../../ties.ts';
import { toTokenColumns } from '../token_rows.ts';
import { rowsOf } from './connections.ts';
import { beginGrants } from './grants.ts';
import type { PostgresResult } from './pool.ts';

const COLUMNS = `id, kind, digest, client_id, scopes, token_type, subject, claims, issued_at_ms, expires_at, keep_until,
  key_id, pair_id, family_id, grant_id, session_id, claims_request, resources`;

/** The tokens to be stored, `$2`: one parameter however many there are. */
const FRESH = `fresh AS (
    SELECT * FROM json_to_recordset($2) AS n (id text, kind text, digest text, client_id text, scopes text,
      token_type text, subject text, claims text, issued_at_ms bigint, expires_at bigint, keep_until bigint,
      key_id text, pair_id text, family_id text, grant_id text, session_id text, claims_request text,
      resources text, key_needed_until bigint))`;

/** Stores the rows of `admitted`, and keeps the keys that signed them for as long. */
const STORE = `stored AS (
    INSERT INTO grantd.tokens (issuer_id, ${COLUMNS},
      client_generation, subject_generation, session_generation, grant_generation)
    SELECT $1, ${COLUMNS}, client_generation, subject_generation, session_generation, grant_generation
    FROM admitted WHERE (SELECT count(*) FROM admitted) = (SELECT count(*) FROM fresh)
    RETURNING *),
  extended AS (
    UPDATE grantd.signing_keys k SET needed_until = s.key_needed_until
    FROM (SELECT n.key_id, max(n.keep_until) AS keep_until, max(n.key_needed_until) AS key_needed_until
          FROM fresh n JOIN stored USING (id) GROUP BY n.key_id) s
    WHERE k.issuer_id = $1 AND k.kid = s.key_id AND k.needed_until < s.keep_until)`;

const OUTCOME = `
  SELECT count(*) AS stored FROM stored`;

const generationOf = (kind: 'subject' | 'session' | 'grant', column: string) => `
      (SELECT p.generation FROM grantd.principals p
       WHERE p.issuer_id = $1 AND p.kind = '${kind}' AND p.id = n.${column})`;

/**
 * Stores tokens that rest upon their client alone, `$3` being its generation as the caller read it. They copy the
 * generations as this statement sees them: what is raised meanwhile is ahead of them. OFFSET 0 keeps look-ups of
 * single rows from becoming a join: nobody knows how few tokens there are in the parameter.
 */
export const STORE_UPON_CLIENT = `
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
      AND c.generation = $3 AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL),
  ${STORE},
  begun AS (${beginGrants('stored')})
  ${OUTCOME}`;

/**
 * Stores tokens that rest upon a row, a refresh token or a code, and name no principal besides its own
 * (`requireSamePrincipals`). They copy the generations which that row copied: what was raised since is ahead of them as
 * it is of the row.
 * @param basis a statement that returns the row where it may still be rested upon; its parameters begin with `$3`
 */
export function storeUpon(basis: string): string {
  const copied = (kind: 'subject' | 'session' | 'grant', column: string) =>
    `CASE WHEN n.${column} IS NOT NULL THEN b.${kind}_generation END AS ${kind}_generation`;
  return `
  WITH ${FRESH},
  basis AS (${basis}),
  admitted AS (
    SELECT n.*, b.client_generation, ${copied('subject', 'subject')}, ${copied('session', 'session_id')},
      ${copied('grant', 'grant_id')}
    FROM fresh n CROSS JOIN basis b),
  ${STORE}
  ${OUTCOME}`;
}

/**
 * Tokens as the parameter `$2`.
 * @throws {TypeError} one of them is tied to others without a grant
 */
export function asParameter(tokens: readonly NewToken[]): string {
  requireGrantsBehindTies(tokens);
  return JSON.stringify(
    tokens.map((token) => ({
      ...toTokenColumns(token),
      key_needed_until: keyNeededUntil(token.keepUntil),
    })),
  );
}

/** What a statement that stores tokens has done. */
export function outcomeOf(result: PostgresResult | undefined): IssueOutcome {
  const [row] = rowsOf<{ stored: number }>(result);
  return row !== undefined && row.stored > 0 ? 'issued' : 'refused';
}

/** Whether a token would be behind the time before which everything has ended. */
export function isBornDead(tokens: readonly NewToken[], { notBeforeMs = 0 }: Mortal): boolean {
  return tokens.some(({ issuedAtMs }) => issuedAtMs < notBeforeMs);
}
