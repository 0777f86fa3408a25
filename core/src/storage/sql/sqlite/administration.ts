import type { Principal } from '../../../protocol/records.ts';
import type { AdministrableStorage, RevocationTarget } from '../../contract.ts';
import { STANDING_JOINS, STANDS } from '../standing.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Principals } from './principals.ts';

/** One walk over the rows that are not over yet; too rare to pay for an index at every issuance. */
const COUNT_ALIVE = `
  SELECT count(*) AS alive FROM tokens t ${STANDING_JOINS}
  WHERE t.issuer_id = :issuerId AND t.keep_until > :now AND t.expires_at > :now
    AND ${STANDS}`;

export const ADMINISTRATION_SQL = {
  raiseNotBefore: `
    UPDATE issuers SET not_before_ms = :notBeforeMs
    WHERE id = :issuerId AND coalesce(not_before_ms, 0) < :notBeforeMs`,

  countOfClient: `${COUNT_ALIVE} AND t.client_id = :id`,
  countOfSubject: `${COUNT_ALIVE} AND t.subject = :id`,
  countOfSession: `${COUNT_ALIVE} AND t.session_id = :id`,
  countOfGrant: `${COUNT_ALIVE} AND t.grant_id = :id`,
  countIssuedBefore: `${COUNT_ALIVE} AND t.issued_at_ms < :issuedBeforeMs`,
};

type Administration = Pick<
  AdministrableStorage,
  'revokeAll' | 'countAlive' | 'setDisabled' | 'getPrincipalState' | 'recordAct'
>;

export function sqliteAdministration(
  { database, issuerId, clock, transaction }: SqliteHandle,
  parts: { readonly principals: Principals; readonly events: Events },
): Administration {
  const { principals, events } = parts;
  const sql = prepareAll(database, ADMINISTRATION_SQL);
  const countOf = {
    client: sql.countOfClient,
    subject: sql.countOfSubject,
    session: sql.countOfSession,
    grant: sql.countOfGrant,
  } satisfies Record<Principal, unknown>;

  return {
    revokeAll(target: RevocationTarget) {
      return transaction(() => {
        if ('issuedBeforeMs' in target) {
          const notBeforeMs = target.issuedBeforeMs;
          if (sql.raiseNotBefore.run({ issuerId, notBeforeMs }).changes === 0) return false;
          events.add('issued_before_revoked', String(notBeforeMs));
          return true;
        }
        const { principal, id } = target;
        if (!principals.raise(principal, id)) return false;
        events.add(`${principal}_revoked`, id);
        return true;
      });
    },

    countAlive(target) {
      const now = Math.floor(clock() / 1000);
      const row =
        'issuedBeforeMs' in target
          ? sql.countIssuedBefore.get({ issuerId, now, issuedBeforeMs: target.issuedBeforeMs })
          : countOf[target.principal].get({ issuerId, now, id: target.id });
      return Number(row?.alive);
    },

    setDisabled(principal, id, disabled) {
      return transaction(() => {
        if (!principals.setDisabled(principal, id, disabled)) return;
        events.add(`${principal}_${disabled ? 'disabled' : 'enabled'}`, id);
      });
    },

    recordAct({ type, target, actor }) {
      return transaction(() => events.add(type, target, actor));
    },

    getPrincipalState(principal, id) {
      return principals.state(principal, id);
    },
  };
}
