import type { TableRows } from '../table_rows.ts';
import { Connections, rowsOf } from './connections.ts';
import { deadlinesOf, type PostgresDeadlines } from './deadlines.ts';
import { migrate } from './migration.ts';
import type { PostgresPool } from './pool.ts';
import { assertSound } from './soundness.ts';
import { type Statement, unnamed } from './statement.ts';

/** Milliseconds for a thousand rows. */
const IMPORT_TIMEOUT_MS = 10 * 60 * 1000;

const IMPORT_SQL = {
  lockIssuers: 'LOCK TABLE grantd.issuers IN EXCLUSIVE MODE',
  countIssuers: 'SELECT count(*) AS issuers FROM grantd.issuers',
};

/** What the other database has no columns for; and identities go on after the numbers that were brought along. */
const AFTERWARDS = [
  'INSERT INTO grantd.sweeps (issuer_id) SELECT id FROM grantd.issuers',
  `UPDATE grantd.issuers i SET last_event_sequence = coalesce(
     (SELECT max(sequence) FROM grantd.events e WHERE e.issuer_id = i.id), 0)`,
  `SELECT setval(pg_get_serial_sequence('grantd.issuers', 'id'), max(id)) FROM grantd.issuers HAVING max(id) > 0`,
  `SELECT setval(pg_get_serial_sequence('grantd.events', 'id'), max(id)) FROM grantd.events HAVING max(id) > 0`,
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
 * @throws Error where the database holds an issuer already, or cannot keep what it commits
 */
export async function importPostgres(
  tables: Iterable<TableRows>,
  { pool, onRows, ...deadlines }: PostgresImportOptions,
): Promise<ReadonlyMap<string, number>> {
  const connections = new Connections(pool, {
    ...deadlinesOf(deadlines),
    statementTimeoutMs: IMPORT_TIMEOUT_MS,
  });
  await assertSound(connections);
  await migrate(connections);
  const counts = new Map<string, number>();

  await connections.longTransaction(async (run) => {
    await run([unnamed(IMPORT_SQL.lockIssuers)]);
    const [there] = rowsOf<{ issuers: number }>(await run([unnamed(IMPORT_SQL.countIssuers)]));
    if (there?.issuers !== 0)
      throw new Error('the PostgreSQL database is in use already: it holds an issuer');
    for (const { table, rows } of tables) {
      if (rows.length > 0) await run([insertion(table, rows), JSON.stringify(rows.map(asColumns(table)))]);
      counts.set(table, (counts.get(table) ?? 0) + rows.length);
      onRows?.(table, counts.get(table) ?? 0);
    }
    for (const text of AFTERWARDS) await run([unnamed(text)]);
  });
  return counts;
}

/** Columns that are here and not there keep their defaults. */
function insertion(table: string, [first = {}]: TableRows['rows']): Statement {
  const columns = Object.keys(asColumns(table)(first)).map(quoted).join(', ');
  const name = `grantd.${quoted(table)}`;
  return unnamed(`
    INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
    SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`);
}

/** An event's number was its place in the order of commits already. */
const asColumns = (table: string) => (row: TableRows['rows'][number]) =>
  table === 'events' ? { id: row.sequence ?? null, ...row } : row;

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
