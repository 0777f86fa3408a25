import { type Connections, ended, rowsOf } from './connections.ts';
import { MIGRATIONS } from './schema.ts';
import { named, unnamed } from './statement.ts';

/** The version that this program writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

const MIGRATION_SQL = {
  isThere: "SELECT to_regclass('grantd.schema_versions') IS NOT NULL AS is_there",
  version: 'SELECT coalesce(max(version), 0) AS version FROM grantd.schema_versions',
  // Only a number that nobody else is likely to lock.
  lock: "SELECT pg_advisory_xact_lock(hashtext('grantd.schema_versions'))",
  createSchema: 'CREATE SCHEMA IF NOT EXISTS grantd',
  createVersions: 'CREATE TABLE IF NOT EXISTS grantd.schema_versions (version integer PRIMARY KEY)',
  addVersion: 'INSERT INTO grantd.schema_versions (version) VALUES ($1)',
};

/**
 * The version of the schema; 0 where there is none yet.
 * @throws Error where it is newer than this program
 */
export async function schemaVersion(connections: Connections): Promise<number> {
  const sql = await named(MIGRATION_SQL);
  const [found] = rowsOf<{ is_there: boolean }>(await connections.read([sql.isThere]));
  if (found?.is_there !== true) return 0;
  return known(versionOf(rowsOf(await connections.read([sql.version]))));
}

/**
 * Brings the schema up to date. Of several processes that start together one migrates, and the others wait for it.
 * @throws Error where it is newer than this program
 */
export async function migrate(connections: Connections): Promise<void> {
  const sql = await named(MIGRATION_SQL);
  const prepare = [sql.lock, sql.createSchema, sql.createVersions, sql.version] as const;
  await connections.transaction(
    prepare.map((statement) => [statement]),
    (found) => {
      const version = known(versionOf(rowsOf(found.at(-1))));
      if (version === SCHEMA_VERSION) return ended(undefined);
      const missing = MIGRATIONS.slice(version).map(unnamed);
      return {
        calls: [...missing.map((script) => [script] as const), [sql.addVersion, SCHEMA_VERSION]],
        outcome: () => undefined,
      };
    },
  );
}

function versionOf([row]: readonly { version: number }[]): number {
  return row?.version ?? 0;
}

function known(version: number): number {
  if (version <= SCHEMA_VERSION) return version;
  throw new Error(
    `the database was written by a newer grantd (schema ${version}); this one knows schemas up to ${SCHEMA_VERSION}`,
  );
}
