import type { OneTimeIdentifiers } from '../../contract.ts';
import { changesOf } from './connections.ts';
import type { PostgresHandle } from './handle.ts';
import { namedStatements } from './statement.ts';

export const ONE_TIME_IDENTIFIERS_SQL = {
  // One that is over counts as swept already.
  take: `
    INSERT INTO grantd.one_time_identifiers AS known (issuer_id, id, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (issuer_id, id) DO UPDATE SET expires_at = excluded.expires_at
    WHERE known.expires_at <= $4`,
};

export async function postgresOneTimeIdentifiers({
  primary,
  issuerId,
  clock,
}: PostgresHandle): Promise<OneTimeIdentifiers> {
  const sql = await namedStatements(ONE_TIME_IDENTIFIERS_SQL);
  return {
    async take(id, expiresAt) {
      const now = Math.floor(clock() / 1000);
      const [taken] = await primary.write([[sql.take, issuerId, id, expiresAt, now]]);
      return changesOf(taken) === 1;
    },
  };
}
