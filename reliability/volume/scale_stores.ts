import { appendFileSync, chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import type { PostgresCluster } from '../../core/test/harness/postgres_cluster.ts';
import type { Row, Value } from './scale_samples.ts';

/** Takes rows in large transactions, without waiting for the disk. */
export interface BulkWriter {
  take(table: string, row: Row): void;
  /** Writes what was taken. */
  flush(): Promise<void>;
  /** @param lastSequence the number of the last event */
  end(lastSequence: number): Promise<void>;
}

/** The size of a table or index. */
export interface StoredSize {
  readonly name: string;
  readonly bytes: number;
}

/** @param path of a file that no process has open */
export function sqliteWriter(path: string): BulkWriter {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -3000000;
    PRAGMA foreign_keys = OFF; BEGIN`);
  const statements = new Map<string, StatementSync>();
  return {
    take(table, row) {
      let statement = statements.get(table);
      if (statement === undefined) {
        const columns = Object.keys(row);
        statement = database.prepare(
          `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        );
        statements.set(table, statement);
      }
      statement.run(...Object.values(row).map(bound));
    },
    async flush() {
      database.exec('COMMIT; BEGIN');
    },
    async end(lastSequence) {
      database.exec(
        `UPDATE issuers SET last_event_sequence = ${lastSequence}; COMMIT; PRAGMA journal_mode = WAL`,
      );
      database.close();
    },
  };
}

function bound(value: Value): string | number | bigint | null {
  return typeof value === 'boolean' ? Number(value) : value;
}

/** @param url of the database, as the superuser */
export async function postgresWriter(cluster: PostgresCluster, url: string): Promise<BulkWriter> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('SET synchronous_commit = off');
  const file = join(cluster.place.folder, 'rows.copy');
  const waiting = new Map<string, { readonly columns: readonly string[]; lines: string[] }>();
  return {
    take(table, row) {
      let rows = waiting.get(table);
      if (rows === undefined) {
        rows = { columns: Object.keys(row), lines: [] };
        waiting.set(table, rows);
      }
      rows.lines.push(Object.values(row).map(copied).join('\t'));
    },
    async flush() {
      for (const [table, { columns, lines }] of waiting) {
        writeFileSync(file, '');
        chmodSync(file, 0o644);
        for (let at = 0; at < lines.length; at += 10_000)
          appendFileSync(file, `${lines.slice(at, at + 10_000).join('\n')}\n`);
        await client.query(`COPY grantd.${table} (${columns.join(', ')}) FROM '${file}'`);
      }
      waiting.clear();
      rmSync(file, { force: true });
    },
    async end(lastSequence) {
      await client.query('UPDATE grantd.issuers SET last_event_sequence = $1', [lastSequence]);
      await client.query('VACUUM (ANALYZE)');
      await client.query('CHECKPOINT');
      await client.end();
    },
  };
}

/** A value in the text format of COPY. */
function copied(value: Value): string {
  if (value === null) return '\\N';
  return String(value).replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n');
}

/** The pages of each table and index of a file. */
export const SQLITE_SIZES = `
  SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
  WHERE d.aggregate = 1 GROUP BY 1 ORDER BY 2 DESC`;

export const POSTGRES_SIZES = `
  SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
  WHERE relnamespace = 'grantd'::regnamespace AND relkind = 'r' ORDER BY 2 DESC`;
