// Checks of a PostgreSQL database when the store opens.
import { namedStatements, type PostgresConnections, rowsOf, unnamed } from './connections.ts';

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

/** Settings of `synchronous_commit` with which a completed commit survives the loss of the server. */
const DURABLE = ['on', 'remote_apply'];

/**
 * Checks that PostgreSQL is writable and that its commits are durable.
 * @throws Error names the wrong setting
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

/** SQLSTATE of a table, column or function that does not exist. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '42703', '42883']);

/**
 * Lets PostgreSQL parse every statement without running it, so that a missing table or column is found when the store
 * opens and not by a request.
 * @throws Error names what is missing; `cause` is the driver's error
 */
export async function requireTables(
  connections: PostgresConnections,
  statements: readonly string[],
): Promise<void> {
  const readings = statements.map(
    (text, index) => `PREPARE grantd_reading_${index} AS ${text}; DEALLOCATE grantd_reading_${index};`,
  );
  try {
    await connections.read([unnamed(readings.join('\n'))]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && MISSING.has(error.code))) throw error;
    throw new Error(
      `the database lacks a part of the tables that grantd made (${error.message}): restore it from a backup`,
      { cause: error },
    );
  }
}
