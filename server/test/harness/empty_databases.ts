// New databases that have their tables, but no issuer. Creating the tables takes longer than most tests, so they are
// created once in a process and then copied. Tests of creation and migration use databases without tables.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { disposableDatabase, sharedPostgres } from '../../../core/test/harness/postgres_databases.ts';
import { ask } from '../../../core/test/harness/postgres_server.ts';
import type { Database } from '../../src/data/database.ts';
import { type PostgresDatabaseOptions, postgresDatabase } from '../../src/data/postgres_database.ts';
import { sqliteDatabase } from '../../src/data/sqlite_database.ts';

export const POSTGRES_OPTIONS: PostgresDatabaseOptions = {
  connections: 4,
  connectTimeoutMs: 5000,
  statementTimeoutMs: 5000,
  onConnectionLost: () => {},
};

let file: Promise<string> | undefined;
let name: Promise<string> | undefined;

/** Creates a file with empty tables. */
export async function createEmptyFile(path: string): Promise<void> {
  file ??= newFile();
  copyFileSync(await file, path);
}

/** @returns the URL of a database with empty tables, on the server that tests share */
export async function emptyPostgres(): Promise<string> {
  name ??= newPostgres();
  return disposableDatabase(await sharedPostgres(), await name);
}

async function newFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-tables-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'grantd.db');
  await createTables(sqliteDatabase(path));
  const database = new DatabaseSync(path);
  database.exec('DELETE FROM issuers');
  database.close();
  return path;
}

async function newPostgres(): Promise<string> {
  const url = await disposableDatabase(await sharedPostgres());
  await createTables(postgresDatabase(url, POSTGRES_OPTIONS));
  await ask({ url }, 'TRUNCATE grantd.issuers RESTART IDENTITY CASCADE');
  return new URL(url).pathname.slice(1);
}

async function createTables(database: Database): Promise<void> {
  await database.open('https://id.example');
  await database.close();
}
