import type { NewToken, TokenKind, TokenRecord } from '../../../protocol/records.ts';
import { canContinue } from '../../continuation.ts';
import type { IssueOutcome, TokenRepository } from '../../contract.ts';
import { requireSamePrincipals } from '../../ties.ts';
import { principalJoins } from '../standing.ts';
import { TOKEN_COLUMNS, toTokenRecord } from '../token_rows.ts';
import { ended, rowsOf } from './connections.ts';
import type { PostgresHandle } from './handle.ts';
import { asParameter, isBornDead, outcomeOf, STORE_UPON_CLIENT, storeUpon } from './issuing.ts';
import type { Principals } from './principals.ts';
import { namedStatements, type PostgresCall } from './statement.ts';

/**
 * Marks the tokens whose identifiers `doomed` selects, and writes the event where that, or `raised`, ended something.
 * `$1` issuer, `$2` now, `$3` the token, `$4` its pair, `$5` what the event is about, `$6` its family.
 */
const end = (doomed: string, type: 'token_revoked' | 'family_revoked', raised = 'SELECT 1 WHERE false') => `
  WITH doomed AS (${doomed}),
  ended AS (
    UPDATE grantd.tokens t SET revoked_at_ms = $2 FROM doomed d
    WHERE t.issuer_id = $1 AND t.id = d.id AND t.revoked_at_ms IS NULL RETURNING 1),
  raised AS (${raised})
  INSERT INTO grantd.events (issuer_id, at_ms, type, target)
  SELECT $1, $2::bigint, '${type}', $5::text
  WHERE EXISTS (SELECT 1 FROM ended) OR EXISTS (SELECT 1 FROM raised)`;

const ITSELF_AND_PAIR = `
    SELECT $3::text AS id
    UNION SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND pair_id = $4`;

export const TOKENS_SQL = {
  lockRefreshToken: `
    SELECT json_build_array(${TOKEN_COLUMNS}) AS found
    FROM grantd.tokens t JOIN grantd.issuers i ON i.id = t.issuer_id ${principalJoins('grantd.')}
    WHERE t.issuer_id = $1 AND t.id = $2 AND t.kind = 'refresh_token'
    FOR UPDATE OF t`,

  issue: STORE_UPON_CLIENT,

  rotate: storeUpon(`
    UPDATE grantd.tokens SET superseded_at_ms = $4, successor_id = $5
    WHERE issuer_id = $1 AND id = $3 AND kind = 'refresh_token'
      AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL
    RETURNING *`),

  issueBeside: storeUpon(`
    SELECT * FROM grantd.tokens
    WHERE issuer_id = $1 AND id = $3 AND kind = 'refresh_token'
      AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL`),

  // With the current refresh token of its family and the pair of that one: revoked ones too, whose pair may not be.
  revokeAccessToken: end(
    `${ITSELF_AND_PAIR}
    UNION SELECT p.id FROM grantd.tokens r
    JOIN grantd.tokens p ON p.issuer_id = r.issuer_id AND p.pair_id = r.pair_id
    WHERE r.issuer_id = $1 AND r.family_id = $6 AND r.kind = 'refresh_token' AND r.superseded_at_ms IS NULL
    UNION SELECT id FROM grantd.tokens
    WHERE issuer_id = $1 AND family_id = $6 AND kind = 'refresh_token' AND superseded_at_ms IS NULL`,
    'token_revoked',
  ),

  // RFC 7009 §2.1: with a refresh token go all tokens of its grant, unless that happened since it was issued.
  revokeRefreshToken: end(
    ITSELF_AND_PAIR,
    'token_revoked',
    `UPDATE grantd.principals p SET generation = p.generation + 1, raised_at_ms = $2
     FROM grantd.tokens t
     WHERE t.issuer_id = $1 AND t.id = $3 AND p.issuer_id = $1 AND p.kind = 'grant' AND p.id = t.grant_id
       AND p.generation = t.grant_generation
     RETURNING 1`,
  ),

  revokeFamily: end(
    `${ITSELF_AND_PAIR} UNION SELECT id FROM grantd.tokens WHERE issuer_id = $1 AND family_id = $6`,
    'family_revoked',
  ),
};

export async function postgresTokens(
  { primary, lookUps, issuerId, clock }: PostgresHandle,
  principals: Principals,
): Promise<TokenRepository> {
  const sql = await namedStatements(TOKENS_SQL);

  const find = async (kind: TokenKind, id: string): Promise<TokenRecord | undefined> => {
    const found = await lookUps.token(id);
    return found?.kind === kind ? found : undefined;
  };

  /** What `rotate` and `issueBeside` have in common: the refresh token is locked, and judged as it is then. */
  const continueFrom = (
    { id, grantId }: TokenRecord,
    tokens: readonly NewToken[],
    store: PostgresCall,
  ): Promise<IssueOutcome | 'superseded'> =>
    primary.transaction<IssueOutcome | 'superseded'>(
      [...principals.lockGrant(grantId), [sql.lockRefreshToken, issuerId, id]],
      (found) => {
        const [row] = rowsOf<{ found: string }>(found.at(-1));
        const presented = row && toTokenRecord(JSON.parse(row.found));
        if (presented === undefined || !canContinue(presented, clock())) return ended('refused');
        if (presented.supersededAtMs !== undefined) return ended('superseded');
        if (isBornDead(tokens, presented)) return ended('refused');
        requireSamePrincipals(presented, tokens);
        return {
          calls: [...principals.keep(tokens), store],
          outcome: (results) => outcomeOf(results.at(-1)),
        };
      },
    );

  return {
    getByAccessToken: (id) => find('access_token', id),
    getByRefreshToken: (id) => find('refresh_token', id),

    isRefreshTokenRevoked(record) {
      return record.revokedAtMs !== undefined;
    },

    async revoke({ id, kind, pairId = null, familyId = null, grantId }) {
      const common = [issuerId, clock(), id, pairId, id] as const;
      await primary.write([
        ...principals.lockGrant(grantId),
        kind === 'refresh_token'
          ? [sql.revokeRefreshToken, ...common]
          : [sql.revokeAccessToken, ...common, familyId],
      ]);
    },

    async revokeFamily({ id, pairId = null, familyId = null, grantId }) {
      await primary.write([
        ...principals.lockGrant(grantId),
        [sql.revokeFamily, issuerId, clock(), id, pairId, familyId ?? id, familyId],
      ]);
    },

    async issue(tokens, { clientGeneration = 0 }) {
      const stored = asParameter(tokens);
      const results = await primary.write([
        ...principals.keep(tokens),
        [sql.issue, issuerId, stored, clientGeneration],
      ]);
      return outcomeOf(results.at(-1));
    },

    async rotate(record, successor, tokens) {
      const store: PostgresCall = [
        sql.rotate,
        issuerId,
        asParameter(tokens),
        record.id,
        clock(),
        successor.id,
      ];
      return continueFrom(record, tokens, store);
    },

    async issueBeside(record, tokens) {
      return continueFrom(record, tokens, [sql.issueBeside, issuerId, asParameter(tokens), record.id]);
    },
  };
}
