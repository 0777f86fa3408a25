import type { Cluster } from '../deployments/cluster.ts';
import type { Connection } from '../load/connection.ts';
import { conclusiveLook, countUnlike, type Ledger } from './ledger.ts';
import type { Lineage } from './lineage.ts';

const TWO_LIVES = `
  SELECT family_id FROM tokens
  WHERE kind = 'refresh_token' AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL AND family_id IS NOT NULL
  GROUP BY family_id HAVING count(*) > 1`;

/** Checks on every server and in the database that acknowledged results hold. Adds broken promises to the ledger. */
export async function checkPromises(
  cluster: Cluster,
  connections: readonly Connection[],
  ledger: Ledger,
  { revoked, kept }: Pick<Ledger, 'revoked' | 'kept'>,
  when: string,
): Promise<void> {
  for (const { address } of cluster.servers) {
    const there = connections.filter((connection) => connection.address === address);
    const forgotten = await countUnlike(there, revoked, 'inactive');
    if (forgotten > 0) ledger.fault(`${when}: ${forgotten} acknowledged revocations are not in force`);
    const lost = await countUnlike(there, kept, 'active');
    if (lost > 0) ledger.fault(`${when}: ${lost} acknowledged tokens are not known`);
  }
  const integrityFault = await cluster.integrityFault();
  if (integrityFault !== undefined) ledger.fault(`${when}: the database says ${integrityFault}`);
  const forked = (await cluster.rows(TWO_LIVES)).length;
  if (forked > 0) ledger.fault(`${when}: ${forked} refresh tokens have two live lineages`);
}

/** Checks that each client that was not locked out has exactly one working refresh token. */
export async function checkLineages(
  connections: readonly Connection[],
  ledger: Ledger,
  lineages: readonly Lineage[],
): Promise<void> {
  for (const { isLockedOut, current, spent } of lineages) {
    const [connection] = connections;
    if (connection === undefined || isLockedOut) continue;
    if ((await conclusiveLook(connection, current)) !== 'active')
      ledger.fault('an honest client ended with a dead refresh token');
    const alive = await countUnlike(connections, spent, 'inactive');
    if (alive > 0) ledger.fault(`${alive} spent refresh tokens are active`);
  }
}
