import { type PostgresConnections, rowsOf } from './connections.ts';
import { namedStatements } from './statement.ts';

const SOUNDNESS_SQL = {
  settings: `
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
      pg_is_in_recovery() AS is_standby, 1::bigint AS one`,
};

type SettingsRow = {
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly is_standby: boolean;
  readonly one: unknown;
};

/** Settings of `synchronous_commit` with which a commit that was answered survives the loss of the server. */
const DURABLE = ['on', 'remote_apply'];

/**
 * Asks PostgreSQL whether what it commits is durable, and whether it may be written to at all.
 * @throws Error naming what is not as it must be
 */
export async function assertSound(connections: PostgresConnections): Promise<void> {
  const sql = await namedStatements(SOUNDNESS_SQL);
  const [row] = rowsOf<SettingsRow>(await connections.read([sql.settings]));
  if (row === undefined) throw new Error('PostgreSQL does not tell its settings');
  if (row.one !== 1)
    throw new Error('the pool must leave it to each query how its values are read (`types`)');
  if (row.is_standby) throw new Error('PostgreSQL is a standby here: grantd needs the primary');
  if (row.fsync !== 'on') {
    throw new Error(`PostgreSQL runs with fsync=${row.fsync} instead of on: a commit could be lost`);
  }
  if (!DURABLE.includes(row.synchronous_commit)) {
    throw new Error(
      `PostgreSQL runs with synchronous_commit=${row.synchronous_commit} instead of on: a commit could be lost`,
    );
  }
}
