// Imports rows of another store into PostgreSQL.
import type { TableRows } from '../statements.ts';
import type { PostgresDeadlines, PostgresPool, PostgresResult } from './connections.ts';
import {
  type PostgresCall,
  PostgresConnections,
  type PostgresStatement,
  rowsOf,
  unnamed,
} from './connections.ts';
import { migratePostgres } from './migrate.ts';
import { STORE_TABLES } from './schema.ts';
import { assertSound } from './soundness.ts';

/** Milliseconds for a thousand rows. */
const IMPORT_TIMEOUT_MS = 10 * 60 * 1000;

/** No store writes before it has an issuer, and none can be added before the transaction ends. */
const LOCK_ISSUERS = 'LOCK TABLE grantd.issuers IN EXCLUSIVE MODE';

/** Rows that SQLite has no table for. Numbers continue after the imported ones. */
const AFTERWARDS = [
  'INSERT INTO grantd.sweeps (issuer_id) SELECT id FROM grantd.issuers',
  `UPDATE grantd.issuers i SET last_event_sequence = greatest(
     last_event_sequence, (SELECT max(sequence) FROM grantd.events e WHERE e.issuer_id = i.id))`,
  `SELECT setval(pg_get_serial_sequence('grantd.issuers', 'id'), max(id)) FROM grantd.issuers HAVING max(id) > 0`,
];

export interface PostgresImportOptions extends PostgresDeadlines {
  readonly pool: PostgresPool;
  /** Called after each insertion with the number of rows of a table so far. */
  readonly onRows?: (table: string, rows: number) => void;
}

/**
 * Imports rows from another database into an empty one, all of them or none.
 * @param tables as `exportSqlite` yields them; tables of a host must exist already, in the schema `grantd`
 * @returns how many rows of each table were imported
 * @throws Error if the database already holds an issuer or rows of a host, or does not keep what it commits
 */
export async function importPostgres(
  tables: Iterable<TableRows>,
  { pool, onRows, ...deadlines }: PostgresImportOptions,
): Promise<ReadonlyMap<string, number>> {
  const connections = new PostgresConnections(pool, deadlines);
  await assertSound(connections);
  await migratePostgres(connections, STORE_TABLES);
  const counts = new Map<string, number>();

  await connections.withStatementTimeout(IMPORT_TIMEOUT_MS).longTransaction(async (run) => {
    await run([unnamed(LOCK_ISSUERS)]);
    await requireEmpty(run, 'issuers');
    for (const { table, rows } of tables) {
      if (!counts.has(table)) await requireEmpty(run, table);
      if (rows.length > 0) await run([insertion(table, rows), JSON.stringify(rows)]);
      counts.set(table, (counts.get(table) ?? 0) + rows.length);
      onRows?.(table, counts.get(table) ?? 0);
    }
    for (const text of AFTERWARDS) await run([unnamed(text)]);
  });
  return counts;
}

async function requireEmpty(
  run: (call: PostgresCall) => Promise<PostgresResult>,
  table: string,
): Promise<void> {
  const [found] = rowsOf(await run([unnamed(`SELECT 1 FROM ${nameOf(table)} LIMIT 1`)]));
  if (found === undefined) return;
  const content = table === 'issuers' ? 'an issuer' : `rows in ${nameOf(table)}`;
  throw new Error(`the PostgreSQL database is in use already: it holds ${content}`);
}

/** Columns that only PostgreSQL has keep their defaults. */
function insertion(table: string, [first = {}]: TableRows['rows']): PostgresStatement {
  const columns = Object.keys(first).map(quoted).join(', ');
  const name = nameOf(table);
  return unnamed(`
    INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
    SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`);
}

function nameOf(table: string): string {
  return `grantd.${quoted(table)}`;
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
