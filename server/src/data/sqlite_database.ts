import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import type { MigrationAssumption } from '@grantd/core';
import { openSqliteConnection } from '@grantd/core/internal/storage/sqlite/connection';
import {
  migrateSqlite,
  newestTimesSql,
  readSqlite,
  readStoredIssuer,
  SqliteInUse,
} from '@grantd/core/internal/storage/sqlite/files';
import { inTransaction } from '@grantd/core/internal/storage/sqlite/queues';
import { SQLITE_STORE_TABLES } from '@grantd/core/internal/storage/sqlite/schema';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { Refused } from '../config/refused.ts';
import { originOf } from '../log/log.ts';
import { SETTLED_AFTER_MS } from './clock_watch.ts';
import { conditionsNow, type WriteCondition } from './conditions.ts';
import {
  type Database,
  directionOf,
  KEPT_BY_SWEEPS,
  migrateDatabase,
  reportAssumptions,
  reportSharedNames,
  reportWords,
  type Schemas,
} from './database.ts';
import { programData } from './program_data.ts';
import { changeSecretFile, createSecretFile, readSecretFile, secretFileOf } from './secrets.ts';
import {
  migrateProgramTables,
  openSqliteTables,
  SQLITE_PROGRAM_TABLES,
  sqliteProgramTables,
} from './sqlite_tables.ts';
import { asRow, statement } from './tables.ts';

interface SqliteDatabaseOptions {
  /** Whether each issuance of tokens is recorded. Default: true. */
  readonly recordsIssuance?: boolean;
  /** As in `SqliteStorageOptions`. */
  readonly checkpointPages?: number;
}

/** An SQLite database file, with the server’s secret in a second file next to it. */
export function sqliteDatabase(
  path: string,
  { recordsIssuance = true, checkpointPages }: SqliteDatabaseOptions = {},
): Database {
  const opened: { close(): unknown }[] = [];
  const assumptions: MigrationAssumption[] = [];
  const schemas = async () => asDatabase(path, () => sqliteSchemas(path));
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
    async doubtAboutCreating() {
      const left = await leftOfEarlier(path);
      if (left !== undefined)
        return `but ${left} of an earlier database exists: put the database back (is its volume mounted?)`;
      const above = dirname(dirname(path));
      return existsSync(above)
        ? undefined
        : `and the folder ${above} does not exist either: correct --database (is its volume mounted?)`;
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
    schemas,
    async migrate(migrating, whileInUse) {
      const attempt = async (isBesideOthers: boolean) => {
        const direction = directionOf(migrating, 'library');
        const ofProgram = directionOf(migrating, 'program');
        const migrateHost = (database: DatabaseSync) => migrateProgramTables(database, path, ofProgram);
        try {
          const order = { path, direction, migrateHost, whileInUse: isBesideOthers, busyTimeoutMs: 0 };
          assumptions.push(...asDatabase(path, () => migrateSqlite(order)));
          return true;
        } catch (error) {
          if (error instanceof SqliteInUse) return false;
          throw error;
        }
      };
      await migrateDatabase({ name: path, schemas }, { migrating, whileInUse, attempt });
    },
    async open(issuer, actor) {
      try {
        const onAssumption = (assumption: MigrationAssumption) => assumptions.push(assumption);
        const isAfterCrash = wasLeftOpen(path);
        let isCorrupt = false;
        const onCorruption = ({ message }: Error) => {
          isCorrupt = true;
          markDamaged(path, message);
        };
        let requireConditions = (_: readonly WriteCondition[]): void => {};
        const storage = asDatabase(path, () =>
          openSqliteStorage({
            ...{ path, issuer, onAssumption, onCorruption },
            hostTables: { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables },
            eventRetentionSeconds: KEPT_BY_SWEEPS,
            audit: { originOf: originOf(actor), issuance: recordsIssuance },
            hostCondition: {
              now: conditionsNow,
              require: (conditions: readonly WriteCondition[]) => requireConditions(conditions),
            },
            ...(checkpointPages !== undefined && { checkpointPages }),
          }),
        );
        opened.push(storage);
        await reportAssumptions(storage, assumptions);
        requireNotCopied(storage.connection.database, path);
        const file = new StoredFile(path);
        const program = sqliteProgramTables(storage.connection, issuer, originOf(actor));
        requireConditions = program.requireConditions;
        const data = programData(program.tables, issuer, storage);
        reportSharedNames(await data.people.keyNames(reportWords));
        return {
          storage,
          ...data,
          referenceTime: async () => {
            const row = await program.tables.first(newestTimes(), asRow);
            const [atMs, settledMs] = [row?.at_ms, row?.settled_ms].map((ms) =>
              ms == null ? undefined : Number(ms),
            );
            const isAfterGap =
              atMs !== undefined && settledMs !== undefined && atMs - settledMs > 2 * SETTLED_AFTER_MS;
            return { atMs, isNow: false, settledMs: isAfterGap ? settledMs : undefined };
          },
          isInPlace: () => file.isInPlace() && !storage.connection.isOlderCopy(file.isChanged()),
          isDamaged: () => isCorrupt || isMarkedDamaged(path),
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

const newestTimes = statement(newestTimesSql(SETTLED_AFTER_MS));

function sqliteSchemas(path: string): Schemas | undefined {
  const stored = readSqlite(path, (database) => ({
    library: { state: SQLITE_STORE_TABLES.stateIn(database), migrations: SQLITE_STORE_TABLES.migrations },
    program: { state: SQLITE_PROGRAM_TABLES.stateIn(database), migrations: SQLITE_PROGRAM_TABLES.migrations },
  }));
  return stored?.library.state.version === 0 ? undefined : stored;
}

/** Milliseconds that another process may take to create the database after its secret. */
const MAX_CREATION_MS = 2000;

/** @returns a file that an earlier database has left next to the missing one */
async function leftOfEarlier(path: string): Promise<string | undefined> {
  const left = () =>
    readStoredIssuer(path) === undefined
      ? [secretFileOf(path), `${path}-wal`, `${path}-inodes`].find((file) => existsSync(file))
      : undefined;
  // Another process may be creating the database right now. It creates the secret first.
  for (const endsAt = performance.now() + MAX_CREATION_MS; performance.now() < endsAt; await pause(20))
    if (left() === undefined) return undefined;
  return left();
}

/** SQLite’s primary result codes. */
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** System errors if a file or folder is not accessible. */
const NOT_PERMITTED = new Set<unknown>(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EISDIR']);

/** SQLite’s messages about missing tables and columns. */
const MISSING_IN_SCHEMA = /^no such (?:table|column)|has no column named/;

/** @throws {Refused} the file is not a database, is corrupt (then it is marked), or is not writable by this user */
function asDatabase<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof Refused) throw error;
    const { code, errcode } = { code: undefined, errcode: undefined, ...error };
    if (isFolder(path))
      throw new Refused(
        `${path} is a folder: choose a file with --database sqlite:${join(path, 'grantd.db')}.`,
      );
    if (Number(errcode) % 256 === SQLITE_CORRUPT) {
      markDamaged(path, error.message);
      throw corruptionRefused(path, error.message);
    }
    if (Number(errcode) % 256 === SQLITE_NOTADB)
      throw new Refused(`${path} is not an SQLite database: choose another with --database.`);
    if (NOT_PERMITTED.has(code) || [SQLITE_READONLY, SQLITE_CANTOPEN].includes(Number(errcode) % 256))
      throw new Refused(
        `${path} cannot be opened (${error.message}): choose a folder that this user can write, with --database sqlite:PATH.`,
      );
    if (MISSING_IN_SCHEMA.test(error.message))
      throw new Refused(
        `${path} lacks tables or columns of grantd (${error.message}): restore the file from a backup.`,
      );
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Never creates a secret for an existing database: it could not open the stored keys, and new hashes would depend on
 * it.
 */
function requireSecretFile(path: string): readonly string[] {
  const secret = readSecretFile(path);
  if (secret !== undefined) return secret;
  throw new Refused(
    `the secret of the database ${path} is missing: set GRANTD_SECRET to the secret with which the database was created, ` +
      `or put ${secretFileOf(path)} back.`,
  );
}

/**
 * Remembers which files were opened: the database and its log, which holds commits until a checkpoint. Uses only
 * `stat`, because closing one of the files would release SQLite’s locks.
 */
class StoredFile {
  readonly #opened: ReadonlyMap<string, string>;
  readonly #path: string;
  #changedAt: bigint | undefined;

  /** @param path a database that is open in this process */
  constructor(path: string) {
    this.#path = path;
    const found = [path, `${path}-wal`].map((file) => [file, identityOf(file)] as const);
    this.#opened = new Map(
      found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
    );
  }

  /**
   * Whether the paths still lead to the opened files.
   * @throws {Error} the file system does not answer
   */
  isInPlace(): boolean {
    return [...this.#opened].every(([path, identity]) => identityOf(path) === identity);
  }

  /** Whether the database file was written since the last call: by a checkpoint, or by something else. */
  isChanged(): boolean {
    const changedAt = statSync(this.#path, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    const isChanged = changedAt !== this.#changedAt;
    this.#changedAt = changedAt;
    return isChanged;
  }
}

/**
 * @returns `undefined` if the file does not exist
 * @throws {Error} the file system does not answer
 */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Larger files are not checked after a crash, because it would take minutes. */
const MAX_CHECKED_BYTES = 1024 ** 3;

/** Marks a corrupt database, for every process that uses it and for the next start. */
const markOf = (path: string) => `${path}-corrupt`;

function isMarkedDamaged(path: string): boolean {
  return existsSync(markOf(path));
}

/** @param reason SQLite’s message */
function markDamaged(path: string, reason: string): void {
  try {
    writeFileSync(markOf(path), `${reason}\n`, { mode: 0o600 });
  } catch {
    // On a full disk, there is no mark, and each process finds the damage itself.
  }
}

/**
 * Checks a file that was marked corrupt and may have been replaced since.
 * @throws {Refused} it is still corrupt
 */
function requireUndamaged(path: string): void {
  if (!isMarkedDamaged(path)) return;
  const damage = damageOf(path);
  if (damage === undefined) {
    rmSync(markOf(path), { force: true });
    return;
  }
  throw corruptionRefused(path, damage);
}

/** @param damage SQLite’s description */
function corruptionRefused(path: string, damage: string): Refused {
  return new Refused(
    `the database ${path} is corrupt (${damage}): stop every program that uses it, move it away together with ${path}-wal and ` +
      `${path}-shm, and put a backup in its place.`,
  );
}

/** Whether a crashed process has left its log. Call it before opening the file. */
function wasLeftOpen(path: string): boolean {
  return sizeOf(`${path}-wal`) > 0;
}

/** Checks a file after a crash, and marks it if it is damaged. Takes seconds for a million tokens (ADR 119). */
export function checkAfterCrash(path: string): void {
  if (sizeOf(path) > MAX_CHECKED_BYTES) return;
  const damage = damageOf(path);
  if (damage !== undefined) markDamaged(path, damage);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** @returns the damage; `undefined` if there is none */
function damageOf(path: string): string | undefined {
  try {
    const database = openSqliteConnection(path);
    try {
      const found = String(database.prepare('PRAGMA quick_check(1)').get()?.quick_check);
      return found === 'ok' ? undefined : found.replaceAll('\n', ' ');
    } finally {
      database.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @throws {Refused} the file was copied to another database */
function requireNotCopied(database: DatabaseSync, path: string): void {
  const row = database.prepare('SELECT address, copied_at_ms FROM copied_to').get();
  if (row === undefined) return;
  throw new Refused(
    `${path} was copied to ${row.address} on ${new Date(Number(row.copied_at_ms)).toISOString()}: ` +
      `use that database (--database). This file lacks all later changes. To use it anyway, run ` +
      `grantd copy --undo --database sqlite:${path}.`,
  );
}

/** @param address the URL of the new database, without a password */
export function markCopied(path: string, address: string, nowMs: number): void {
  withTables(path, (database) =>
    database.prepare('INSERT INTO copied_to (address, copied_at_ms) VALUES (?, ?)').run(address, nowMs),
  );
}

/** @returns whether the file was marked */
export function unmarkCopied(path: string): boolean {
  return withTables(path, (database) => database.prepare('DELETE FROM copied_to').run().changes) !== 0;
}

function withTables<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = openSqliteTables(path);
  try {
    return inTransaction(database, () => work(database));
  } finally {
    database.close();
  }
}
