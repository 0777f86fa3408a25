// Imports rows of another store into a new SQLite file.
import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TableRows } from '../statements.ts';
import { Database } from './connection.ts';
import { migrate } from './schema.ts';

export interface SqliteImportOptions {
  /** The new file, which does not exist yet. If the import fails, the file is of no use. */
  readonly path: string;
  /** Creates tables that a host keeps in the same file. */
  readonly migrateHost?: (database: DatabaseSync) => void;
}

/**
 * Creates a file and imports the rows that `give` passes on, in the order of the tables. The file is not flushed.
 * @param give passes on rows, as `exportPostgres` does
 * @throws Error if the file exists, or if it lacks a table or column of a row
 */
export async function importSqlite(
  { path, migrateHost }: SqliteImportOptions,
  give: (take: (rows: TableRows) => void) => Promise<void>,
): Promise<void> {
  closeSync(openSync(path, 'wx', 0o600));
  const database = new Database(path);
  const inserted = new Map<string, StatementSync>();
  const statementFor = (table: string, columns: readonly string[]): StatementSync => {
    const known = inserted.get(table);
    if (known !== undefined) return known;
    const statement = database.prepare(
      `INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    inserted.set(table, statement);
    return statement;
  };
  try {
    // Without a log, because a file that is only half written is thrown away.
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
    migrate(database, path);
    migrateHost?.(database);
    await give(({ table, rows }) => {
      for (const row of rows) statementFor(table, Object.keys(row)).run(...Object.values(row));
    });
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}
