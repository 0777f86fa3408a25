import { canContinue } from '../../continuation.ts';
import type { AuthorizationCodeRepository, IssueOutcome } from '../../contract.ts';
import { latest } from '../../retention.ts';
import { requireSamePrincipals } from '../../ties.ts';
import { CODE_COLUMNS, toCodeColumns, toCodeRecord } from '../code_rows.ts';
import { principalJoins } from '../standing.ts';
import { ended, rowsOf } from './connections.ts';
import { beginGrants } from './grants.ts';
import type { PostgresHandle } from './handle.ts';
import { asParameter, isBornDead, outcomeOf, storeUpon } from './issuing.ts';
import { type Found, underLease } from './primary.ts';
import type { Principals } from './principals.ts';
import { namedStatements } from './statement.ts';
import { isStorable } from './storable.ts';

const LOOK_UP = `
  SELECT json_build_array(${CODE_COLUMNS}) AS found
  FROM grantd.authorization_codes t JOIN grantd.issuers i ON i.id = t.issuer_id ${principalJoins('grantd.')}
  WHERE t.issuer_id = $1 AND t.id = $2`;

export const AUTHORIZATION_CODES_SQL = {
  get: underLease(LOOK_UP),
  lock: `${LOOK_UP} FOR UPDATE OF t`,

  issue: `
    WITH issued AS (
      INSERT INTO grantd.authorization_codes (issuer_id, id, client_id, redirect_uri, redirect_uri_given,
        code_challenge, scopes, subject, grant_id, session_id, nonce, claims, claims_request, resources,
        issued_at_ms, expires_at, keep_until,
        client_generation, subject_generation, session_generation, grant_generation)
      SELECT $1, n.id, n.client_id, n.redirect_uri, n.redirect_uri_given,
        n.code_challenge, n.scopes, n.subject, n.grant_id, n.session_id, n.nonce, n.claims, n.claims_request, n.resources,
        n.issued_at_ms, n.expires_at, n.keep_until,
        c.generation, s.generation, e.generation, g.generation
      FROM json_to_record($2) AS n (id text, client_id text, redirect_uri text, redirect_uri_given boolean,
        code_challenge text, scopes text, subject text, grant_id text, session_id text, nonce text, claims text,
        claims_request text, resources text, issued_at_ms bigint, expires_at bigint, keep_until bigint)
      JOIN grantd.issuers i ON i.id = $1
      JOIN grantd.clients c ON c.issuer_id = $1 AND c.id = n.client_id
      JOIN grantd.principals s ON s.issuer_id = $1 AND s.kind = 'subject' AND s.id = n.subject
      JOIN grantd.principals g ON g.issuer_id = $1 AND g.kind = 'grant' AND g.id = n.grant_id
      LEFT JOIN grantd.principals e ON e.issuer_id = $1 AND e.kind = 'session' AND e.id = n.session_id
      WHERE coalesce(i.not_before_ms, 0) <= n.issued_at_ms
        AND c.generation = $3 AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL
      RETURNING *),
    begun AS (${beginGrants('issued')})
    SELECT 1 FROM issued`,

  redeem: storeUpon(`
    UPDATE grantd.authorization_codes SET redeemed_at_ms = $4, keep_until = greatest(keep_until, $5)
    WHERE issuer_id = $1 AND id = $3 AND redeemed_at_ms IS NULL AND revoked_at_ms IS NULL
    RETURNING *`),

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
    INSERT INTO grantd.events (issuer_id, at_ms, type, target)
    SELECT $1, $3::bigint, 'code_revoked', $2
    WHERE EXISTS (SELECT 1 FROM marked) OR EXISTS (SELECT 1 FROM raised)`,
};

export async function postgresAuthorizationCodes(
  { primary, issuerId, clock }: PostgresHandle,
  principals: Principals,
): Promise<AuthorizationCodeRepository> {
  const sql = await namedStatements(AUTHORIZATION_CODES_SQL);
  return {
    async get(id) {
      if (!isStorable(id)) return undefined;
      const row = await primary.readUnderLease<Found<{ found: string }, 'found'>>([sql.get, issuerId, id]);
      return row.found === null ? undefined : toCodeRecord(JSON.parse(row.found));
    },

    async issue(code, { clientGeneration = 0 }) {
      const results = await primary.write([
        ...principals.keep([{ ...code, keepUntil: code.expiresAt }]),
        [sql.issue, issuerId, JSON.stringify(toCodeColumns(code)), clientGeneration],
      ]);
      return rowsOf(results.at(-1)).length === 1 ? 'issued' : 'refused';
    },

    redeem({ id, grantId }, tokens) {
      return primary.transaction<IssueOutcome | 'already_redeemed'>(
        [...principals.lockGrant(grantId), [sql.lock, issuerId, id]],
        (found) => {
          const [row] = rowsOf<{ found: string }>(found.at(-1));
          const stored = row && toCodeRecord(JSON.parse(row.found));
          if (stored === undefined) return ended('refused');
          if (stored.redeemedAtMs !== undefined) return ended('already_redeemed');
          if (!canContinue(stored, clock()) || isBornDead(tokens, stored)) return ended('refused');
          requireSamePrincipals(stored, tokens);
          return {
            calls: [
              ...principals.keep(tokens),
              [sql.redeem, issuerId, asParameter(tokens), id, clock(), latest(tokens)],
            ],
            outcome: (results) => outcomeOf(results.at(-1)),
          };
        },
      );
    },

    async revoke({ id, grantId }) {
      await primary.write([...principals.lockGrant(grantId), [sql.revoke, issuerId, id, clock()]]);
    },
  };
}
