// Migrations of tables on PostgreSQL, and whether their version can be used.
import {
  canUse,
  isTooNew,
  type Migration,
  type MigrationDirection,
  migrationPlan,
  NO_TABLES,
  type SchemaState,
} from '../migrations.ts';
import { ended, namedStatements, type PostgresConnections, rowsOf, unnamed } from './connections.ts';

/** Tables with a versioned schema: the store's own, or those that a host keeps next to them. */
export interface PostgresTables {
  /**
   * The table that keeps the version, as `schema.table` in lower case. Table and schema are created if they are
   * missing.
   */
  readonly versions: string;
  /** The script of each version, which may hold several statements. Applied in order, never edited once released. */
  readonly migrations: readonly Migration[];
}

/** Migrating may take longer than a request would wait. */
const MIGRATION_TIMEOUT_MS = 10 * 60 * 1000;

/** While a migration waits for the lock of a table, every statement of other processes on it waits as well. */
const QUICKLY = "SET LOCAL lock_timeout = '1s'";

/** How soon a program notices that a newer one has migrated the tables. */
const LOOK_AGAIN_MS = 1000;

/**
 * Migrates tables. If several processes start together, one migrates and the others wait for it.
 * @returns the version that the tables had before; 0 if there were none
 * @throws Error if the database or the role lacks what the tables need,
 *   if a newer program has changed them so that this one cannot use them, or if an expansion or a
 *   contraction has waited a second for the lock of a table (its `code` is `55P03`); nothing is changed then
 */
export async function migratePostgres(
  connections: PostgresConnections,
  tables: PostgresTables,
  direction: MigrationDirection = 'up',
): Promise<number> {
  const rights = await rightsOn(connections, tables);
  const state = await usableState(connections, tables);
  if (migrationPlan(direction, state, tables.migrations).scripts.length === 0) return state.version;
  requireRightToCreate(rights);
  return migrate(connections.withStatementTimeout(MIGRATION_TIMEOUT_MS), tables, direction);
}

/**
 * The state of tables; `NO_TABLES` if there are none yet.
 * @throws Error as `migratePostgres`
 */
export async function usableState(
  connections: PostgresConnections,
  tables: PostgresTables,
): Promise<SchemaState> {
  return usable(await storedState(connections, tables), tables);
}

/** The state of tables, which this program may be unable to use; `NO_TABLES` if there are none yet. Changes nothing. */
export async function storedState(
  connections: PostgresConnections,
  { versions }: Pick<PostgresTables, 'versions'>,
): Promise<SchemaState> {
  const sql = await namedStatements(statementsOn({ versions }));
  const [found] = rowsOf<{ is_there: boolean }>(await connections.read([sql.isThere]));
  if (found?.is_there !== true) return NO_TABLES;
  return stateOf(rowsOf(await connections.read([sql.state])));
}

/** What a role may do, with names as SQL writes them. */
interface Rights {
  readonly role: string;
  readonly database: string;
  readonly encoding: string;
  readonly schema: string;
  readonly has_schema: boolean;
  readonly may_use: boolean;
  readonly may_create_tables: boolean;
  readonly may_create_schema: boolean;
}

/**
 * Looks at the database before anything is read from its tables or created.
 * @throws Error if it cannot hold every text, or if the role may not use the schema
 */
export async function rightsOn(
  connections: PostgresConnections,
  { versions }: Pick<PostgresTables, 'versions'>,
): Promise<Rights> {
  const sql = await namedStatements(rightsStatements(schemaOf(versions)));
  const [rights] = rowsOf<Rights>(await connections.read([sql.rights]));
  if (rights === undefined) throw new TypeError('PostgreSQL does not list its current database');
  const { role, database, encoding, schema, has_schema, may_use } = rights;
  if (encoding !== 'UTF8')
    throw new Error(
      `the database ${database} has the encoding ${encoding}, which cannot hold every text: create another one with ` +
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
    );
  if (has_schema && !may_use)
    throw new Error(
      `the role ${role} may not use the schema ${schema}: run GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`,
    );
  return rights;
}

/** @throws Error if the role may not create the schema, or tables in it */
function requireRightToCreate(rights: Rights): void {
  const { role, database, schema, has_schema, may_create_tables, may_create_schema } = rights;
  if (has_schema ? may_create_tables : may_create_schema) return;
  throw new Error(
    has_schema
      ? `the role ${role} may not create tables in the schema ${schema}: run GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`
      : `the role ${role} may not create the schema ${schema} in the database ${database}: ` +
          `run GRANT CREATE ON DATABASE ${database} TO ${role}, or CREATE SCHEMA ${schema} AUTHORIZATION ${role}`,
  );
}

function rightsStatements(schema: string) {
  return {
    rights: `
      SELECT quote_ident(current_user) AS role, quote_ident(d.datname) AS database, '${schema}' AS schema,
        pg_encoding_to_char(d.encoding) AS encoding, n.oid IS NOT NULL AS has_schema,
        has_database_privilege(d.oid, 'CREATE') AS may_create_schema,
        coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_use,
        coalesce(has_schema_privilege(n.oid, 'CREATE'), false) AS may_create_tables
      FROM pg_database d LEFT JOIN pg_namespace n ON n.nspname = '${schema}'
      WHERE d.datname = current_database()`,
  };
}

/**
 * @returns a function that rejects once the tables can no longer be used; it checks at most once in `LOOK_AGAIN_MS`
 */
export function requireUsableTables(
  connections: PostgresConnections,
  tables: PostgresTables,
): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    if (!canUse(await usableState(connections, tables), tables.migrations)) throw new Error(OTHER_VERSION);
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

/** Another program has undone migrations meanwhile. */
const OTHER_VERSION = 'the tables were changed while they were open: the program has to be started again';

async function migrate(
  connections: PostgresConnections,
  tables: PostgresTables,
  direction: MigrationDirection,
): Promise<number> {
  const sql = await namedStatements(statementsOn(tables));
  const prepare = [sql.lock, sql.createSchema, sql.createVersions, sql.state] as const;
  return connections.transaction(
    prepare.map((statement) => [statement]),
    (found) => {
      const before = usable(stateOf(rowsOf(found.at(-1))), tables);
      const { scripts, state, isExpansion } = migrationPlan(direction, before, tables.migrations);
      if (scripts.length === 0) return ended(before.version);
      return {
        calls: [
          ...(isExpansion || direction === 'contract' ? [QUICKLY, ...scripts] : scripts).map(
            (script) => [unnamed(script)] as const,
          ),
          [sql.forgetLater, state.version],
          [sql.store, state.version, state.floor],
        ],
        outcome: () => before.version,
      };
    },
  );
}

/** @throws {TypeError} the name of the table has another form */
function schemaOf(versions: string): string {
  const [, schema] = /^([a-z_]\w*)\.[a-z_]\w*$/.exec(versions) ?? [];
  if (schema !== undefined && versions === versions.toLowerCase()) return schema;
  throw new TypeError(`versions: expected schema.table in lower case, not ${versions}`);
}

function statementsOn({ versions }: Pick<PostgresTables, 'versions'>) {
  const schema = schemaOf(versions);
  return {
    isThere: `SELECT to_regclass('${versions}') IS NOT NULL AS is_there`,
    // Databases of early versions have no column for the floor.
    state: `
      SELECT version, coalesce((to_jsonb(v) ->> 'floor')::integer, version) AS floor
      FROM ${versions} v ORDER BY version DESC LIMIT 1`,
    // Any number that other programs are unlikely to lock.
    lock: `SELECT pg_advisory_xact_lock(hashtext('${versions}'))`,
    // `CREATE SCHEMA IF NOT EXISTS` needs the right to create one, even if it exists.
    createSchema: `
      DO $$ BEGIN
        IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${schema}; END IF;
      END $$`,
    createVersions: `CREATE TABLE IF NOT EXISTS ${versions} (version integer PRIMARY KEY, floor integer)`,
    forgetLater: `DELETE FROM ${versions} WHERE version > $1`,
    store: `
      INSERT INTO ${versions} (version, floor) VALUES ($1, $2)
      ON CONFLICT (version) DO UPDATE SET floor = excluded.floor`,
  };
}

function stateOf([row]: readonly SchemaState[]): SchemaState {
  return row ?? NO_TABLES;
}

function usable(state: SchemaState, { versions, migrations }: PostgresTables): SchemaState {
  if (!isTooNew(state, migrations)) return state;
  throw new Error(
    `the database was written by a newer program: ${versions} says ${state.version}, usable from ${state.floor}, ` +
      `and this one knows versions up to ${migrations.length}`,
  );
}
