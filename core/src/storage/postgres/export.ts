// Exports all rows of a PostgreSQL database.
import { neededVersion } from '../migrations.ts';
import { TABLES, type TableRows } from '../statements.ts';
import {
  namedStatements,
  type PostgresCall,
  PostgresConnections,
  type PostgresDeadlines,
  type PostgresPool,
  type PostgresResult,
  rowsOf,
  sqlState,
  unnamed,
} from './connections.ts';
import { DESCRIPTION, EVENTS_SQL } from './events.ts';
import { usableState } from './migrate.ts';
import { STORE_TABLES } from './schema.ts';
import { assertSound } from './soundness.ts';

const ROWS_AT_ONCE = 1000;

/** Milliseconds for a thousand rows. */
const EXPORT_TIMEOUT_MS = 10 * 60 * 1000;

/** Columns that belong to this PostgreSQL server, so they are not exported. Every other column is. */
const LEFT_OUT: Readonly<Partial<Record<string, readonly string[]>>> = {
  issuers: ['epoch', 'epoch_timeline', 'epoch_since'],
  events: ['id'],
};

/** SQLSTATE of a transaction whose snapshot another one has overtaken. */
const OVERTAKEN = '40001';

const MAX_ATTEMPTS = 10;

type Run = (call: PostgresCall) => Promise<PostgresResult>;

export interface PostgresExportOptions extends PostgresDeadlines {
  /** A pool that can give two connections at the same time. */
  readonly pool: PostgresPool;
  /** Tables that a host keeps in the same schema. */
  readonly hostTables?: readonly string[];
}

/**
 * Exports all rows of a database as they are at one moment, table after table, a thousand at a time. Every write that
 * had returned before the call is among them, and none is in it half. Writers go on meanwhile.
 * @param take receives the rows of a table; the next ones are read when it has returned
 * @throws Error if the tables are of another version, or if this server cannot show that it is the primary
 */
export async function exportPostgres(
  { pool, hostTables = [], ...deadlines }: PostgresExportOptions,
  take: (rows: TableRows) => void,
): Promise<void> {
  const connections = new PostgresConnections(pool, deadlines).withStatementTimeout(EXPORT_TIMEOUT_MS);
  await assertSound(connections);
  await requireThisVersion(connections);
  for (let attempt = 1; ; attempt++) {
    let hasBegun = false;
    try {
      return await connections.snapshot(async (run) => {
        const lastNumbers = await numberEvents(connections, run);
        hasBegun = true;
        for (const table of [...TABLES, ...hostTables]) await exportTable(table, run, lastNumbers, take);
      });
    } catch (error) {
      if (hasBegun || attempt === MAX_ATTEMPTS || sqlState(error) !== OVERTAKEN) throw error;
    }
  }
}

async function requireThisVersion(connections: PostgresConnections): Promise<void> {
  const { version } = await usableState(connections, STORE_TABLES);
  const { migrations } = STORE_TABLES;
  const known = migrations.length;
  if (version >= neededVersion(migrations) && version <= known) return;
  if (version === 0) throw new Error('the PostgreSQL database has no tables of grantd');
  throw new Error(
    `the PostgreSQL database has the schema ${version} of another grantd, and this one exports the schema ${known}: use ` +
      'the version of its servers',
  );
}

/**
 * Numbers the events that the snapshot contains, in a transaction that sees the same. Otherwise the export would have to
 * leave them out, or give them numbers that the database later gives to others. The commit also proves that this server
 * is the primary, because it waits for the synchronous standby.
 * @returns the last number of each issuer in the snapshot, which does not see the new numbers
 * @throws Error with `OVERTAKEN` if another transaction has numbered events since
 */
async function numberEvents(connections: PostgresConnections, run: Run): Promise<Map<unknown, number>> {
  const sql = await namedStatements(EVENTS_SQL);
  const [snapshot] = rowsOf<{ id: string }>(await run([unnamed('SELECT pg_export_snapshot() AS id')]));
  const issuers = rowsOf<{ id: number; last: number }>(
    await run([unnamed('SELECT id, last_event_sequence AS last FROM grantd.issuers ORDER BY id')]),
  );
  await connections.longTransaction(async (write) => {
    for (const { id } of issuers) {
      await write([sql.lockNumbering, id]);
      await write([sql.number, id, Number.MAX_SAFE_INTEGER]);
    }
  }, snapshot?.id);
  return new Map(issuers.map(({ id, last }) => [id, last]));
}

async function exportTable(
  table: string,
  run: Run,
  lastNumbers: Map<unknown, number>,
  take: (rows: TableRows) => void,
): Promise<void> {
  const leftOut = LEFT_OUT[table] ?? [];
  // Events without a number have just got one, in this order.
  const parts = table === 'events' ? EVENT_PARTS : [`SELECT * FROM grantd."${table}"`];
  for (const select of parts) {
    await run([unnamed(`DECLARE exported NO SCROLL CURSOR FOR ${select}`)]);
    for (let isWhole = true; isWhole; ) {
      const found = rowsOf<Record<string, unknown>>(
        await run([unnamed(`FETCH ${ROWS_AT_ONCE} FROM exported`)]),
      );
      const rows = found.map((row) => {
        if (table === 'events' && row.sequence === null) {
          const number = (lastNumbers.get(row.issuer_id) ?? 0) + 1;
          lastNumbers.set(row.issuer_id, number);
          row.sequence = number;
        }
        const kept = Object.entries(row).filter(([column]) => !leftOut.includes(column));
        return Object.fromEntries(kept.map(([column, value]) => [column, plain(value)]));
      });
      take({ table, rows });
      isWhole = found.length === ROWS_AT_ONCE;
    }
    await run([unnamed('CLOSE exported')]);
  }
}

const EVENT_PARTS = [
  'SELECT * FROM grantd.events WHERE sequence IS NOT NULL',
  `SELECT id, issuer_id, NULL::bigint AS sequence, ${DESCRIPTION} FROM grantd.unnumbered_events ORDER BY issuer_id, id`,
];

function plain(value: unknown): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  throw new TypeError('a row holds what is neither text, number nor true or false');
}
