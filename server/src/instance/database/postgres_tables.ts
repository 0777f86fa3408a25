import type { Pool, QueryResult } from 'pg';
import type { AskPostgres, Row, TimedQuery } from './postgres_statements.ts';

/**
 * The program's own tables, beside the library's in its schema, with the columns that they have in SQLite; each entry
 * is applied once and never edited.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE grantd.people (
    issuer        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    password_hash text NOT NULL,
    claims        text NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, name)
  );

  CREATE TABLE grantd.demo_issuers (
    issuer text COLLATE "C" NOT NULL PRIMARY KEY
  );
  `,
];

const SQL = {
  isThere: "SELECT to_regclass('grantd.program_schema') IS NOT NULL AS is_there",
  version: 'SELECT version FROM grantd.program_schema',
  // Only a number that nobody else is likely to lock.
  lock: "SELECT pg_advisory_xact_lock(hashtext('grantd.program_schema'))",
  createVersion: 'CREATE TABLE IF NOT EXISTS grantd.program_schema (version integer NOT NULL)',
  forgetVersion: 'DELETE FROM grantd.program_schema',
  addVersion: 'INSERT INTO grantd.program_schema (version) VALUES ($1)',
};

/** Runs a text on the one connection of a transaction. */
type Run = (text: string, ...values: unknown[]) => Promise<QueryResult<Row>>;

/**
 * Makes the program's own tables where they are missing, in a database that the library's store has made already.
 * @throws {Error} they were written by a newer program
 */
export async function preparePostgresTables(
  pool: Pool,
  ask: AskPostgres,
  statementTimeoutMs: number,
): Promise<void> {
  const [found] = (await ask(SQL.isThere)).rows;
  const version = found?.is_there === true ? versionOf((await ask(SQL.version)).rows) : 0;
  if (version !== MIGRATIONS.length) await migrate(pool, statementTimeoutMs);
}

/** Under a lock, so that of several processes that start together one migrates. */
async function migrate(pool: Pool, statementTimeoutMs: number): Promise<void> {
  const client = await pool.connect();
  let isSound = false;
  const run: Run = (text, ...values) => {
    const query: TimedQuery = { text, values, query_timeout: statementTimeoutMs };
    return client.query<Row, unknown[]>(query);
  };
  try {
    await run('BEGIN');
    await run(SQL.lock);
    await applyMissing(run);
    await run('COMMIT');
    isSound = true;
  } finally {
    // A connection that is cut rolls back.
    client.release(!isSound);
  }
}

async function applyMissing(run: Run): Promise<void> {
  await run(SQL.createVersion);
  const version = versionOf((await run(SQL.version)).rows);
  if (version > MIGRATIONS.length) throw new Error('the database was written by a newer grantd');
  for (const migration of MIGRATIONS.slice(version)) await run(migration);
  await run(SQL.forgetVersion);
  await run(SQL.addVersion, MIGRATIONS.length);
}

function versionOf([row]: readonly Row[]): number {
  return Number(row?.version ?? 0);
}
