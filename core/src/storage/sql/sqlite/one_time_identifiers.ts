import type { OneTimeIdentifiers } from '../../contract.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

export const ONE_TIME_IDENTIFIERS_SQL = {
  // One that is over counts as swept already.
  take: `
    INSERT INTO one_time_identifiers (issuer_id, id, expires_at) VALUES (:issuerId, :id, :expiresAt)
    ON CONFLICT (issuer_id, id) DO UPDATE SET expires_at = excluded.expires_at
    WHERE one_time_identifiers.expires_at <= :now`,
};

export function sqliteOneTimeIdentifiers({
  database,
  issuerId,
  clock,
  transaction,
}: SqliteHandle): OneTimeIdentifiers {
  const sql = prepareAll(database, ONE_TIME_IDENTIFIERS_SQL);
  return {
    take(id, expiresAt) {
      return transaction(() => {
        const now = Math.floor(clock() / 1000);
        return sql.take.run({ issuerId, id, expiresAt, now }).changes === 1;
      });
    },
  };
}
