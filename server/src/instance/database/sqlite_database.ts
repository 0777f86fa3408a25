import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { MigrationAssumption } from '@grantd/core';
import {
  Corruption,
  openSqliteStorage,
  readStoredIssuer,
  type SqliteStorageOptions,
} from '@grantd/core/sqlite';
import { Refused } from '../refused.ts';
import { requireNotCopied } from './copied_file.ts';
import {
  corruptionRefused,
  isMarkedDamaged,
  markDamaged,
  requireUndamaged,
  wasLeftOpen,
} from './damaged_file.ts';
import type { Database } from './database.ts';
import { reportAssumptions, reportSharedNames } from './migration_notes.ts';
import { programData } from './program_data.ts';
import { changeSecretFile, createSecretFile, readSecretFile, secretFileOf } from './secret_file.ts';
import { sqliteProgramTables } from './sqlite_program_tables.ts';
import { openSqliteTables } from './sqlite_tables.ts';
import { StoredFile } from './stored_file.ts';

/** As the library's store takes them. */
export type SqliteDatabaseOptions = Pick<SqliteStorageOptions, 'eventRetentionSeconds' | 'cachedTokens'>;

/** A database in a file, with the server's secret in another one beside it. */
export function sqliteDatabase(path: string, options: SqliteDatabaseOptions = {}): Database {
  const opened: { close(): unknown }[] = [];
  const close = async (): Promise<void> => {
    for (const handle of opened.splice(0).reverse()) await handle.close();
  };

  return {
    name: path,
    file: path,
    storedIssuer: async () =>
      asDatabase(path, () => {
        requireUndamaged(path);
        return readStoredIssuer(path);
      }),
    async doubtAboutMaking() {
      const left = await leftOfEarlier(path);
      return left && `but ${left} is left of an earlier one: put the database back (is its volume mounted?)`;
    },
    prepareSecret() {
      asDatabase(path, () => {
        if (readSecretFile(path) === undefined) createSecretFile(path);
      });
    },
    keptSecret: () => requireSecretFile(path),
    changeKeptSecret(change) {
      changeSecretFile(path, change);
      return secretFileOf(path);
    },
    async open(issuer) {
      try {
        const assumptions: MigrationAssumption[] = [];
        const onAssumption = (assumption: MigrationAssumption) => assumptions.push(assumption);
        const isAfterCrash = wasLeftOpen(path);
        const corruption = new Corruption(({ message }) => markDamaged(path, message));
        const storage = asDatabase(path, () =>
          openSqliteStorage({ ...options, path, issuer, corruption, onAssumption }),
        );
        opened.push(storage);
        await reportAssumptions(storage, assumptions);
        const tables = asDatabase(path, () => openSqliteTables(path));
        opened.push(tables);
        requireNotCopied(tables, path);
        const file = new StoredFile(path);
        const data = programData(sqliteProgramTables(tables, corruption), issuer, storage.clients);
        reportSharedNames(await data.people.keyNames());
        return {
          storage,
          ...data,
          isInPlace: () => file.isInPlace(),
          isDamaged: () => corruption.isFound || isMarkedDamaged(path),
          isAfterCrash,
        };
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
  };
}

/** Milliseconds for which a process that has just made the secret may take to make the database. */
const LONGEST_MAKING_MS = 2000;

/** @returns the path of what an earlier database has left beside a missing one */
async function leftOfEarlier(path: string): Promise<string | undefined> {
  const left = () =>
    readStoredIssuer(path) === undefined
      ? [secretFileOf(path), `${path}-wal`, `${path}-inodes`].find((file) => existsSync(file))
      : undefined;
  // Another process may be making the database right now: its secret comes first.
  for (const endsAt = performance.now() + LONGEST_MAKING_MS; performance.now() < endsAt; await pause(20))
    if (left() === undefined) return undefined;
  return left();
}

/** SQLite's result codes, without what extends them. */
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** What the system says where a file or its folder may not be written. */
const NOT_PERMITTED = new Set<unknown>(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EISDIR']);

/** What SQLite says if a table or column of this version is missing. */
const MISSING_IN_SCHEMA = /^no such (?:table|column)|has no column named/;

/** @throws {Refused} the file is something else, or corrupt, which is marked, or this user may not write it */
function asDatabase<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof Refused) throw error;
    const { code, errcode } = { code: undefined, errcode: undefined, ...error };
    if (isFolder(path))
      throw new Refused(
        `${path} is a folder: name a file with --database sqlite:${join(path, 'grantd.db')}.`,
      );
    if (Number(errcode) % 256 === SQLITE_CORRUPT) {
      markDamaged(path, error.message);
      throw corruptionRefused(path, error.message);
    }
    if (Number(errcode) % 256 === SQLITE_NOTADB)
      throw new Refused(`${path} is not an SQLite database: name another with --database.`);
    if (NOT_PERMITTED.has(code) || [SQLITE_READONLY, SQLITE_CANTOPEN].includes(Number(errcode) % 256))
      throw new Refused(
        `${path} cannot be opened (${error.message}): choose a folder that this user can write, with --database sqlite:PATH.`,
      );
    if (MISSING_IN_SCHEMA.test(error.message))
      throw new Refused(
        `${path} lacks a part of the tables that grantd made (${error.message}): restore the file from a backup.`,
      );
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A secret made for a database that exists already would not open its keys, and spoil what is hashed under it. */
function requireSecretFile(path: string): readonly string[] {
  const secret = readSecretFile(path);
  if (secret !== undefined) return secret;
  throw new Refused(
    `the secret of the database ${path} is missing: set GRANTD_SECRET as it was when the database was made, ` +
      `or put ${secretFileOf(path)} back.`,
  );
}
