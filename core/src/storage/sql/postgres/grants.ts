import type { AdministrableStorage } from '../../contract.ts';
import {
  aliveGrants,
  GRANT_COLUMNS,
  GRANT_READ,
  type GrantRow,
  NEWEST_FIRST,
  ON_KNOWN_GRANT,
  toGrantRecord,
} from '../grant_rows.ts';
import { changesOf, rowsOf } from './connections.ts';
import type { PostgresHandle } from './handle.ts';
import { namedStatements } from './statement.ts';
import { isStorable } from './storable.ts';

/**
 * Remembers what the first code or token of a person's grant tells of it, a later one only once it has ended.
 * @param stored the codes or tokens that the same statement has stored
 */
export function beginGrants(stored: string): string {
  const read = GRANT_COLUMNS.map((column) => (column === 'created_at_ms' ? 'issued_at_ms' : column));
  return `
    INSERT INTO grantd.grants AS known (issuer_id, grant_id, ${GRANT_COLUMNS.join(', ')})
    SELECT DISTINCT ON (grant_id) issuer_id, grant_id, ${read.join(', ')}
    FROM ${stored} WHERE grant_id IS NOT NULL AND subject IS NOT NULL ORDER BY grant_id, id
    ${ON_KNOWN_GRANT}`;
}

const PARAMETERS = { issuerId: '$1', subject: '$2', now: '$3' };

const ALIVE = aliveGrants('grantd.', (name) => PARAMETERS[name]);

export const GRANTS_SQL = {
  ofSubject: `SELECT ${GRANT_READ} ${ALIVE} ${NEWEST_FIRST}`,

  // In one order, as others may lock the same ones.
  lock: `
    SELECT 1 FROM grantd.principals WHERE issuer_id = $1 AND kind = 'grant' AND id = ANY (ARRAY(
      SELECT grant_id FROM grantd.grants WHERE issuer_id = $1 AND subject = $2 AND client_id = $3))
    ORDER BY id FOR UPDATE`,

  // What was ended before the lock was had is seen here, and not ended again.
  revoke: `
    WITH ended AS (
      UPDATE grantd.principals SET generation = generation + 1, raised_at_ms = $5
      WHERE issuer_id = $1 AND kind = 'grant' AND id = ANY (ARRAY(
        SELECT t.grant_id ${ALIVE} AND t.client_id = $4))
      RETURNING id)
    INSERT INTO grantd.events (issuer_id, at_ms, type, target)
    SELECT $1, $5::bigint, 'grant_revoked', id FROM ended`,
};

export async function postgresGrants({
  primary,
  issuerId,
  clock,
}: PostgresHandle): Promise<Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'>> {
  const sql = await namedStatements(GRANTS_SQL);
  return {
    async grantsOf(subject) {
      if (!isStorable(subject)) return [];
      const found = await primary.read([sql.ofSubject, issuerId, subject, Math.floor(clock() / 1000)]);
      return rowsOf<GrantRow>(found).map(toGrantRecord);
    },

    async revokeGrants(subject, clientId) {
      if (!isStorable(subject) || !isStorable(clientId)) return 0;
      const nowMs = clock();
      const [, ended] = await primary.write([
        [sql.lock, issuerId, subject, clientId],
        [sql.revoke, issuerId, subject, Math.floor(nowMs / 1000), clientId, nowMs],
      ]);
      return changesOf(ended);
    },
  };
}
