import type { Principal } from '../../../protocol/records.ts';
import type { AdministrableStorage } from '../../contract.ts';
import { principalJoins, STANDS } from '../standing.ts';
import { changesOf, rowsOf } from './connections.ts';
import type { PostgresHandle } from './handle.ts';
import type { Principals } from './principals.ts';
import { namedStatements } from './statement.ts';
import { isStorable } from './storable.ts';

/** One walk over the rows that are not over yet; too rare to pay for an index at every issuance. */
const COUNT_ALIVE = `
  SELECT count(*) AS alive
  FROM grantd.tokens t JOIN grantd.issuers i ON i.id = t.issuer_id ${principalJoins('grantd.')}
  WHERE t.issuer_id = $1 AND t.keep_until > $2 AND t.expires_at > $2
    AND ${STANDS}`;

export const ADMINISTRATION_SQL = {
  raiseNotBefore: `
    WITH raised AS (
      UPDATE grantd.issuers SET not_before_ms = $2
      WHERE id = $1 AND coalesce(not_before_ms, 0) < $2 RETURNING 1)
    INSERT INTO grantd.events (issuer_id, at_ms, type, target)
    SELECT $1, $3::bigint, 'issued_before_revoked', $2::bigint::text FROM raised`,

  recordAct: `
    INSERT INTO grantd.events (issuer_id, at_ms, type, target, actor) VALUES ($1, $2, $3, $4, $5)`,

  countOfClient: `${COUNT_ALIVE} AND t.client_id = $3`,
  countOfSubject: `${COUNT_ALIVE} AND t.subject = $3`,
  countOfSession: `${COUNT_ALIVE} AND t.session_id = $3`,
  countOfGrant: `${COUNT_ALIVE} AND t.grant_id = $3`,
  countIssuedBefore: `${COUNT_ALIVE} AND t.issued_at_ms < $3`,
};

type Administration = Pick<
  AdministrableStorage,
  'revokeAll' | 'countAlive' | 'setDisabled' | 'getPrincipalState' | 'recordAct'
>;

export async function postgresAdministration(
  { primary, issuerId, clock }: PostgresHandle,
  principals: Principals,
): Promise<Administration> {
  const sql = await namedStatements(ADMINISTRATION_SQL);
  const countOf = {
    client: sql.countOfClient,
    subject: sql.countOfSubject,
    session: sql.countOfSession,
    grant: sql.countOfGrant,
  } satisfies Record<Principal, unknown>;

  return {
    async revokeAll(target) {
      if ('id' in target && !isStorable(target.id)) return false;
      const [raised] = await primary.write([
        'issuedBeforeMs' in target
          ? [sql.raiseNotBefore, issuerId, target.issuedBeforeMs, clock()]
          : principals.raise(target.principal, target.id),
      ]);
      return changesOf(raised) === 1;
    },

    async countAlive(target) {
      if ('id' in target && !isStorable(target.id)) return 0;
      const now = Math.floor(clock() / 1000);
      const found = await primary.read(
        'issuedBeforeMs' in target
          ? [sql.countIssuedBefore, issuerId, now, target.issuedBeforeMs]
          : [countOf[target.principal], issuerId, now, target.id],
      );
      return Number(rowsOf<{ alive: number }>(found)[0]?.alive);
    },

    async setDisabled(principal, id, disabled) {
      if (!isStorable(id)) return;
      await primary.write([principals.setDisabled(principal, id, disabled)]);
    },

    async recordAct({ type, target, actor }) {
      await primary.write([[sql.recordAct, issuerId, clock(), type, target, actor]]);
    },

    getPrincipalState(principal, id) {
      return principals.state(principal, id);
    },
  };
}
