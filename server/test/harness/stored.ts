import { join } from 'node:path';
import type { Database, OpenDatabase } from '../../src/data/database.ts';
import { postgresDatabase } from '../../src/data/postgres_database.ts';
import { sqliteDatabase } from '../../src/data/sqlite_database.ts';
import { environmentOf, type RunningServer } from './program.ts';

/** Opens the database of a running server directly. */
export async function withDatabaseOf<T>(
  server: RunningServer,
  work: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  const database = databaseIn(server.folder);
  try {
    return await work(await database.open(server.url));
  } finally {
    await database.close();
  }
}

export function databaseIn(folder: string): Database {
  const { GRANTD_DATABASE: url } = environmentOf(folder);
  if (url === undefined) return sqliteDatabase(join(folder, 'grantd-data', 'grantd.db'));
  return postgresDatabase(url, {
    connections: 2,
    connectTimeoutMs: 5000,
    statementTimeoutMs: 5000,
    onConnectionLost: () => {},
  });
}
