import type { GrantRecord } from '../../../protocol/records.ts';
import type { AdministrableStorage } from '../../contract.ts';
import type { GrantBeginning } from '../../issuing.ts';
import {
  aliveGrants,
  GRANT_READ,
  type GrantRow,
  NEWEST_FIRST,
  ON_KNOWN_GRANT,
  toGrantRecord,
} from '../grant_rows.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Principals } from './principals.ts';

export const GRANTS_SQL = {
  begin: `
    INSERT INTO grants AS known (issuer_id, grant_id, client_id, subject, scopes, session_id, created_at_ms,
      client_generation, subject_generation, session_generation, grant_generation)
    VALUES (:issuerId, :grantId, :clientId, :subject, :scopes, :sessionId, :issuedAtMs,
      (SELECT generation FROM clients WHERE issuer_id = :issuerId AND id = :clientId),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'subject' AND id = :subject),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'session' AND id = :sessionId),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'grant' AND id = :grantId))
    ${ON_KNOWN_GRANT}`,

  ofSubject: `SELECT ${GRANT_READ} ${aliveGrants('', (name) => `:${name}`)} ${NEWEST_FIRST}`,
};

export interface Grants extends Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'> {
  /**
   * Remembers what the first code or token of a person's grant tells of it, a later one only once it has ended; inside
   * the caller's transaction.
   */
  begin(first: GrantBeginning): void;
}

export function sqliteGrants(
  { database, issuerId, clock, transaction }: SqliteHandle,
  parts: { readonly principals: Principals; readonly events: Events },
): Grants {
  const { principals, events } = parts;
  const sql = prepareAll(database, GRANTS_SQL);
  const grantsOf = (subject: string): readonly GrantRecord[] => {
    const rows = sql.ofSubject.all({ issuerId, subject, now: Math.floor(clock() / 1000) }) as GrantRow[];
    return rows.map(toGrantRecord);
  };

  return {
    begin({ grantId, clientId, subject, scopes, sessionId = null, issuedAtMs }) {
      if (grantId === undefined || subject === undefined) return;
      const grant = { grantId, clientId, subject, scopes: JSON.stringify(scopes), sessionId, issuedAtMs };
      sql.begin.run({ issuerId, ...grant });
    },

    grantsOf,

    revokeGrants(subject, clientId) {
      return transaction(() => {
        const ended = grantsOf(subject).filter((grant) => grant.clientId === clientId);
        for (const { id } of ended) {
          principals.raise('grant', id);
          events.add('grant_revoked', id);
        }
        return ended.length;
      });
    },
  };
}
