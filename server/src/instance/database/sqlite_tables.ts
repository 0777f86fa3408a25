import type { DatabaseSync } from 'node:sqlite';
import { inTransaction, openSqliteConnection } from '@grantd/core/sqlite';

/** The program's own tables, beside the library's in the same file; each entry is applied once and never edited. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE people (
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    claims        TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE demo_issuers (
    issuer TEXT NOT NULL PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  `,
];

/** Those of them that hold rows to take along to another database. */
export const SQLITE_TABLES_TO_COPY = ['people', 'demo_issuers'];

/**
 * Opens the program's own tables in a file that the library's store has already made.
 * @throws {Error} there is no such file, it was written by a newer program, or it cannot be kept durable
 */
export function openSqliteTables(path: string): DatabaseSync {
  const database = openSqliteConnection(path);
  try {
    if (storedVersion(database) !== MIGRATIONS.length) migrate(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Under the write lock, so that of several processes that start together one migrates. */
function migrate(database: DatabaseSync, path: string): void {
  inTransaction(database, () => {
    database.exec('CREATE TABLE IF NOT EXISTS program_schema (version INTEGER NOT NULL) STRICT');
    const version = storedVersion(database);
    if (version > MIGRATIONS.length) throw new Error(`${path} was written by a newer grantd`);
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.exec('DELETE FROM program_schema');
    database.prepare('INSERT INTO program_schema (version) VALUES (?)').run(MIGRATIONS.length);
  });
}

function storedVersion(database: DatabaseSync): number {
  const hasTable =
    database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'program_schema'").get() !== undefined;
  return hasTable ? Number(database.prepare('SELECT version FROM program_schema').get()?.version ?? 0) : 0;
}
