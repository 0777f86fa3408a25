import type { TableRows } from '../statements.ts';
import type { PostgresDeadlines, PostgresPool, PostgresResult } from './connections.ts';
import {
  type PostgresCall,
  PostgresConnections,
  type PostgresStatement,
  rowsOf,
  unnamed,
} from './connections.ts';
import { assertSound, migratePostgres, STORE_TABLES } from './schema.ts';

/** Milliseconds for a thousand rows. */
const IMPORT_TIMEOUT_MS = 10 * 60 * 1000;

/** Without an issuer nobody writes anywhere else, and none is added before the end of the transaction. */
const LOCK_ISSUERS = 'LOCK TABLE grantd.issuers IN EXCLUSIVE MODE';

/** What the other database has no table for; and numbers go on after those that were brought along. */
const AFTERWARDS = [
  'INSERT INTO grantd.sweeps (issuer_id) SELECT id FROM grantd.issuers',
  `UPDATE grantd.issuers i SET last_event_sequence = greatest(
     last_event_sequence, (SELECT max(sequence) FROM grantd.events e WHERE e.issuer_id = i.id))`,
  `SELECT setval(pg_get_serial_sequence('grantd.issuers', 'id'), max(id)) FROM grantd.issuers HAVING max(id) > 0`,
];

export interface PostgresImportOptions extends PostgresDeadlines {
  readonly pool: PostgresPool;
  /** Told after each insertion how many rows of a table have come in so far. */
  readonly onRows?: (table: string, rows: number) => void;
}

/**
 * Takes rows from another database into one that holds none yet, all of them or none.
 * @param tables as `exportSqlite` yields them; tables of a host must be there already, in the schema `grantd`
 * @returns how many rows of each table came in
 * @throws Error where the database holds an issuer already, or rows of a host, or cannot keep what it commits
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

/** Columns that are here and not there keep their defaults. */
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
