import type { GrantRecord } from '../../protocol/records.ts';
import { IS_NOT_BEHIND, principalJoins } from './standing.ts';

const GENERATIONS = [
  'client_generation',
  'subject_generation',
  'session_generation',
  'grant_generation',
] as const;

/** What a row holds besides its key. */
export const GRANT_COLUMNS = [
  'client_id',
  'subject',
  'scopes',
  'session_id',
  'created_at_ms',
  ...GENERATIONS,
];

/**
 * What becomes of a grant that is known already: it begins anew where what it was has ended, which shows in the
 * generations that it copied then. `known` stands for the table.
 */
export const ON_KNOWN_GRANT = `
    ON CONFLICT (issuer_id, grant_id) DO UPDATE
    SET (${GRANT_COLUMNS.join(', ')}) = (${GRANT_COLUMNS.map((column) => `excluded.${column}`).join(', ')})
    WHERE ${GENERATIONS.map((generation) => `excluded.${generation} > known.${generation}`).join(' OR ')}`;

/**
 * Grants that are alive: what a disabling ends was raised by it as well. Where tokens were ended one by one, or by a
 * time before which they were issued, the grant itself lives on until the last of them would be over.
 * Looked for by person, and by nothing that finds more: no index knows of `coalesce`.
 * @param schema before the names of tables
 * @param parameter spells the parameters `issuerId`, `subject` and `now`
 */
export function aliveGrants(
  schema: '' | 'grantd.',
  parameter: (name: 'issuerId' | 'subject' | 'now') => string,
): string {
  return `
    FROM ${schema}grants t ${principalJoins(schema)}
    WHERE t.issuer_id = ${parameter('issuerId')} AND t.subject = ${parameter('subject')}
      AND coalesce(g.keep_until, 0) > ${parameter('now')} AND ${IS_NOT_BEHIND}`;
}

export const GRANT_READ = 't.grant_id, t.client_id, t.subject, t.scopes, t.session_id, t.created_at_ms';

export const NEWEST_FIRST = 'ORDER BY t.created_at_ms DESC, t.grant_id DESC';

export type GrantRow = {
  readonly grant_id: string;
  readonly client_id: string;
  readonly subject: string;
  readonly scopes: string;
  readonly session_id: string | null;
  readonly created_at_ms: number;
};

export function toGrantRecord(row: GrantRow): GrantRecord {
  return {
    id: row.grant_id,
    clientId: row.client_id,
    subject: row.subject,
    scopes: JSON.parse(row.scopes),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    createdAtMs: row.created_at_ms,
  };
}
