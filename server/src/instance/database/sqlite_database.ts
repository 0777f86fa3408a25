import { openSqliteStorage, readStoredIssuer } from '@grantd/core/sqlite';
import { Refused } from '../refused.ts';
import type { Database } from './database.ts';
import { programData } from './program_data.ts';
import { createSecretFile, readSecretFile, secretFileOf } from './secret_file.ts';
import { sqliteProgramTables } from './sqlite_program_tables.ts';
import { openSqliteTables } from './sqlite_tables.ts';
import { StoredFile } from './stored_file.ts';

/** A database in a file, with the server's secret in another one beside it. */
export function sqliteDatabase(path: string): Database {
  const opened: { close(): unknown }[] = [];
  const close = async (): Promise<void> => {
    for (const handle of opened.splice(0).reverse()) await handle.close();
  };

  return {
    name: path,
    file: path,
    storedIssuer: async () => asDatabase(path, () => readStoredIssuer(path)),
    prepareSecret() {
      if (readSecretFile(path) === undefined) createSecretFile(path);
    },
    keptSecret: () => requireSecretFile(path),
    async open(issuer) {
      try {
        const storage = openSqliteStorage({ path, issuer });
        opened.push(storage);
        const tables = openSqliteTables(path);
        opened.push(tables);
        const file = new StoredFile(path);
        return {
          storage,
          ...programData(sqliteProgramTables(tables), issuer, storage.clients),
          isInPlace: () => file.isInPlace(),
        };
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
  };
}

const SQLITE_NOTADB = 26;

/** @throws {Refused} the file is something else */
function asDatabase<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_NOTADB)
      throw new Refused(`${path} is not an SQLite database: name another with --database.`);
    throw error;
  }
}

/** A secret made for a database that exists already would not open its keys, and spoil what is hashed under it. */
function requireSecretFile(path: string): string {
  const secret = readSecretFile(path);
  if (secret !== undefined) return secret;
  throw new Refused(
    `the secret of the database ${path} is missing: set GRANTD_SECRET as it was when the database was made, ` +
      `or put ${secretFileOf(path)} back.`,
  );
}
