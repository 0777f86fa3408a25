import { ended, type PostgresConnections, rowsOf } from './connections.ts';
import { namedStatements, unnamed } from './statement.ts';

/** Tables whose schema has versions: the store's own, or those that a host keeps beside them. */
export interface PostgresTables {
  /** The table that keeps the version, as `schema.table` in lower case; both are made where they are missing. */
  readonly versions: string;
  /** The script of each version, which may hold several statements; applied in order, never edited once released. */
  readonly migrations: readonly string[];
}

/** Migrating may take longer than a request would wait. */
const MIGRATION_TIMEOUT_MS = 10 * 60 * 1000;

/** How soon a program notices that a newer one has migrated the tables. */
const LOOK_AGAIN_MS = 1000;

/**
 * Brings tables up to date. Of several processes that start together one migrates, and the others wait for it.
 * @returns the version that they had before; 0 if there were none
 * @throws Error where they are newer than this program; nothing is changed then
 */
export async function migratePostgres(
  connections: PostgresConnections,
  tables: PostgresTables,
): Promise<number> {
  const version = await schemaVersion(connections, tables);
  if (version === tables.migrations.length) return version;
  return migrate(connections.withStatementTimeout(MIGRATION_TIMEOUT_MS), tables);
}

/**
 * The version of tables; 0 where there are none yet.
 * @throws Error where they are newer than this program
 */
export async function schemaVersion(
  connections: PostgresConnections,
  tables: PostgresTables,
): Promise<number> {
  const sql = await namedStatements(statementsOn(tables));
  const [found] = rowsOf<{ is_there: boolean }>(await connections.read([sql.isThere]));
  if (found?.is_there !== true) return 0;
  return known(versionOf(rowsOf(await connections.read([sql.version]))), tables);
}

/** @returns what rejects once a newer program has migrated the tables; it asks at most once in `LOOK_AGAIN_MS` */
export function requireSameTables(
  connections: PostgresConnections,
  tables: PostgresTables,
): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    await schemaVersion(connections, tables);
    goodUntilMs = performance.now() + LOOK_AGAIN_MS;
  };
  return async () => {
    if (performance.now() < goodUntilMs) return;
    pending ??= look().finally(() => {
      pending = undefined;
    });
    await pending;
  };
}

async function migrate(connections: PostgresConnections, tables: PostgresTables): Promise<number> {
  const sql = await namedStatements(statementsOn(tables));
  const prepare = [sql.lock, sql.createSchema, sql.createVersions, sql.version] as const;
  return connections.transaction(
    prepare.map((statement) => [statement]),
    (found) => {
      const version = known(versionOf(rowsOf(found.at(-1))), tables);
      const newest = tables.migrations.length;
      if (version === newest) return ended(version);
      const missing = tables.migrations.slice(version).map(unnamed);
      return {
        calls: [...missing.map((script) => [script] as const), [sql.addVersion, newest]],
        outcome: () => version,
      };
    },
  );
}

function statementsOn({ versions }: PostgresTables) {
  const [, schema] = /^([a-z_]\w*)\.[a-z_]\w*$/.exec(versions) ?? [];
  if (schema === undefined || versions !== versions.toLowerCase())
    throw new TypeError(`versions: expected schema.table in lower case, not ${versions}`);
  return {
    isThere: `SELECT to_regclass('${versions}') IS NOT NULL AS is_there`,
    version: `SELECT coalesce(max(version), 0) AS version FROM ${versions}`,
    // Only a number that nobody else is likely to lock.
    lock: `SELECT pg_advisory_xact_lock(hashtext('${versions}'))`,
    createSchema: `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    createVersions: `CREATE TABLE IF NOT EXISTS ${versions} (version integer PRIMARY KEY)`,
    addVersion: `INSERT INTO ${versions} (version) VALUES ($1)`,
  };
}

function versionOf([row]: readonly { version: number }[]): number {
  return row?.version ?? 0;
}

function known(version: number, { versions, migrations }: PostgresTables): number {
  if (version <= migrations.length) return version;
  throw new Error(
    `the database was written by a newer program: ${versions} says ${version}, ` +
      `and this one knows versions up to ${migrations.length}`,
  );
}
