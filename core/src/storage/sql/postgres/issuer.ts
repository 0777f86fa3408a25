import { type PostgresConnections, rowsOf } from './connections.ts';
import { namedStatements } from './statement.ts';

const ISSUER_SQL = {
  find: 'SELECT id FROM grantd.issuers WHERE issuer = $1',
  // Of processes that begin with several issuers at once the first to be answered is the first by number as well.
  lock: 'LOCK TABLE grantd.issuers IN SHARE ROW EXCLUSIVE MODE',
  add: 'INSERT INTO grantd.issuers (issuer) VALUES ($1) ON CONFLICT (issuer) DO NOTHING',
  addSweep: `
    INSERT INTO grantd.sweeps (issuer_id) SELECT id FROM grantd.issuers WHERE issuer = $1
    ON CONFLICT (issuer_id) DO NOTHING`,
  first: 'SELECT issuer FROM grantd.issuers ORDER BY id LIMIT 1',
};

/** The number that stands for an issuer in every key; it gets one where it has none yet. */
export async function issuerIdOf(connections: PostgresConnections, issuer: string): Promise<number> {
  const sql = await namedStatements(ISSUER_SQL);
  const find = async () => rowsOf<{ id: number }>(await connections.read([sql.find, issuer]))[0]?.id;
  const known = await find();
  if (known !== undefined) return known;
  await connections.write([[sql.lock], [sql.add, issuer], [sql.addSweep, issuer]]);
  const added = await find();
  if (added === undefined) throw new Error(`the issuer ${issuer} was not stored`);
  return added;
}

/** The issuer for which the database was opened first; `undefined` where there is none yet. */
export async function firstIssuer(connections: PostgresConnections): Promise<string | undefined> {
  const sql = await namedStatements(ISSUER_SQL);
  return rowsOf<{ issuer: string }>(await connections.read([sql.first]))[0]?.issuer;
}
