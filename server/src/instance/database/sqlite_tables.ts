import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

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

/**
 * Opens the program's own tables in a file that the library's store has already made, readable by its owner alone.
 * @throws {Error} there is no such file, it was written by a newer program, or it cannot be kept durable
 */
export function openSqliteTables(path: string): DatabaseSync {
  // Never a file of its own, which would have the mode that the process happens to give.
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'rw');
  const database = new DatabaseSync(url, { timeout: 2000 });
  try {
    database.exec('PRAGMA synchronous = FULL');
    // On macOS only this reaches past the drive's own cache; elsewhere it changes nothing.
    database.exec('PRAGMA fullfsync = ON');
    assertDurable(database, path);
    if (storedVersion(database) !== MIGRATIONS.length) migrate(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** What the library's store asserts of its connection: settings are each connection's own. */
function assertDurable(database: DatabaseSync, path: string): void {
  const journalMode = database.prepare('PRAGMA journal_mode').get()?.journal_mode;
  const synchronous = database.prepare('PRAGMA synchronous').get()?.synchronous;
  if (journalMode === 'wal' && synchronous === 2) return;
  throw new Error(
    `SQLite keeps ${path} with journal_mode=${journalMode} and synchronous=${synchronous} instead of wal and 2 ` +
      '(FULL): a commit could be lost',
  );
}

/** Under the write lock, so that of several processes that start together one migrates. */
function migrate(database: DatabaseSync, path: string): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec('CREATE TABLE IF NOT EXISTS program_schema (version INTEGER NOT NULL) STRICT');
    const version = storedVersion(database);
    if (version > MIGRATIONS.length) throw new Error(`${path} was written by a newer grantd`);
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.exec('DELETE FROM program_schema');
    database.prepare('INSERT INTO program_schema (version) VALUES (?)').run(MIGRATIONS.length);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function storedVersion(database: DatabaseSync): number {
  const hasTable =
    database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'program_schema'").get() !== undefined;
  return hasTable ? Number(database.prepare('SELECT version FROM program_schema').get()?.version ?? 0) : 0;
}
