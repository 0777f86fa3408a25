import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type AliveCount, ServerSecret } from '@grantd/core';
import { makeFolder } from '@grantd/core/internal/storage/sqlite/connection';
import {
  copySqlite,
  firstIssuerIn,
  readSqlite,
  skipEventNumbers,
} from '@grantd/core/internal/storage/sqlite/files';
import { SQLITE_STORE_TABLES } from '@grantd/core/internal/storage/sqlite/schema';
import packageJson from '../../package.json' with { type: 'json' };
import { withoutPassword } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import {
  type BackupKey,
  type BackupLock,
  type BackupManifest,
  type OpenedBackup,
  openBackup,
  PARTIAL,
  sealBackup,
} from './backup_file.ts';
import type { OpenDatabase } from './database.ts';
import type { StoredIn } from './database_of.ts';
import {
  createSecretFile,
  isErrno,
  type ProgramSecretUse,
  readSecretFile,
  sealOfPairwiseSecret,
  secretFileOf,
  secretText,
  syncFolder,
} from './secrets.ts';
import { sqliteDatabase } from './sqlite_database.ts';
import { SQLITE_PROGRAM_TABLES } from './sqlite_tables.ts';

interface BackupOrder {
  readonly database: StoredIn;
  /** The new backup. */
  readonly to: string;
  readonly lock: BackupLock;
  /** The server’s secrets, if they are to be in the backup. */
  readonly secrets?: readonly string[];
  /** Receives how far the copy is. */
  readonly onProgress?: (progress: string) => void;
}

export interface WrittenBackup extends BackupManifest {
  readonly bytes: number;
}

/** What unfinished backups of this process would leave. */
const unfinished = new Set<string>();

/**
 * Writes a backup of a database that processes may use meanwhile. The new file appears complete, or not at all. Until it
 * is sealed, the copy of an SQLite file is next to it, and the copy of a PostgreSQL database is in a temporary folder.
 * @throws {Refused} the database is missing or damaged, the new file exists or cannot be written, or another backup runs
 */
export async function backUp({
  database,
  to,
  lock,
  secrets,
  onProgress = () => {},
}: BackupOrder): Promise<WrittenBackup> {
  if ('path' in database && !existsSync(database.path))
    throw new Refused(`the database ${database.path} does not exist: choose another with --database.`);
  requireFree(to);
  const partial = to + PARTIAL;
  /** Seals a copy. */
  const seal = async (copy: string, name: string, takenAtMs: number): Promise<BackupManifest> => {
    const damage = damageIn(copy, 'quick_check');
    if (damage !== undefined)
      throw new Refused(
        `the database ${name} is damaged (${damage}): no backup was written. Restore an earlier one.`,
      );
    if (secrets !== undefined) await requireFittingSecrets(copy, name, secrets);
    const manifest = { program: packageJson.version, takenAtMs, ...contentOf(copy) };
    makeFolder(dirname(to));
    await sealBackup({ manifest, database: copy, ...(secrets !== undefined && { secrets }) }, partial, lock);
    return manifest;
  };
  const finish = (manifest: BackupManifest): WrittenBackup => {
    const { size: bytes } = statSync(partial);
    putInPlace(partial, to);
    return { ...manifest, bytes };
  };
  try {
    return 'url' in database
      ? await clearing([partial], async () => finish(await copyPostgres(database, onProgress, seal)))
      : await alone(database.path, async () => {
          const copy = `${database.path}-backup`;
          return clearing([copy, `${copy}-journal`, `${copy}-wal`, `${copy}-shm`, partial], async () =>
            finish(await copyFile(database.path, copy, onProgress, seal)),
          );
        });
  } catch (error) {
    throw asRefused(error, to);
  }
}

/**
 * Each server that has started on a database has sealed something with its secret, unless an option sets the pairwise
 * secret.
 * @throws {Refused} these secrets do not open it
 */
async function requireFittingSecrets(copy: string, name: string, secrets: readonly string[]): Promise<void> {
  const rows =
    readSqlite(copy, (database) =>
      database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'pairwise_secrets'").get() === undefined
        ? []
        : database.prepare('SELECT issuer, sealed FROM pairwise_secrets').all(),
    ) ?? [];
  for (const { issuer, sealed } of rows) {
    const kept = { get: async () => String(sealed) };
    if (
      (await sealOfPairwiseSecret(kept, new ServerSecret<ProgramSecretUse>(secrets), String(issuer))) === -1
    )
      throw new Refused(
        `the server’s secret does not fit the database ${name}, so no backup was written: set --secret-file or GRANTD_SECRET as for the server.`,
      );
  }
}

type Seal = (copy: string, name: string, takenAtMs: number) => Promise<BackupManifest>;

async function copyFile(
  path: string,
  copy: string,
  onProgress: (progress: string) => void,
  seal: Seal,
  clock: () => number = Date.now,
): Promise<BackupManifest> {
  const takenAtMs = clock();
  createPrivately(copy);
  await copySqlite({
    ...{ path, to: copy },
    onPages: (copied, all) => onProgress(`${Math.floor((copied / all) * 100)} % copied`),
  });
  return seal(copy, path, takenAtMs);
}

function copyPostgres(
  database: Extract<StoredIn, { url: string }>,
  onProgress: (progress: string) => void,
  seal: Seal,
  clock: () => number = Date.now,
): Promise<BackupManifest> {
  return inScratchFolder(async (folder) => {
    const { withCopyOfPostgres } = await import('./postgres_copy.ts');
    const takenAtMs = clock();
    const copy = join(folder, 'grantd.db');
    const manifest = await withCopyOfPostgres(
      database,
      copy,
      (table, rows) => onProgress(`${table}: ${rows} rows`),
      () => seal(copy, withoutPassword(database.url), takenAtMs),
    );
    if (manifest === undefined)
      throw new BackupRunning('another process is making a backup of this database: wait for it.');
    return manifest;
  });
}

/** Removes files that a killed process may have left, does the work, and removes them again. */
async function clearing<T>(files: readonly string[], work: () => Promise<T>): Promise<T> {
  removeAll(files);
  for (const file of files) unfinished.add(file);
  try {
    return await work();
  } finally {
    removeAll(files);
    for (const file of files) unfinished.delete(file);
  }
}

/** Removes what this process’s unfinished backups have left. Call it right before the process ends. */
export function clearBackups(): void {
  removeAll([...unfinished]);
}

const SCRATCH = 'grantd-scratch-';

/**
 * Works in a temporary folder that only this user can read, and removes it. If the process is killed, the next call of
 * the same user removes it.
 */
export async function inScratchFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  removeLeftFolders();
  const folder = mkdtempSync(join(tmpdir(), SCRATCH));
  // Tells others that the folder is in use, until the process ends.
  const lock = openLock(join(folder, 'lock'));
  unfinished.add(folder);
  try {
    return await work(folder);
  } finally {
    lock.close();
    removeAll([folder]);
    unfinished.delete(folder);
  }
}

function removeLeftFolders(): void {
  for (const name of readdirSync(tmpdir()).filter((item) => item.startsWith(SCRATCH))) {
    const folder = join(tmpdir(), name);
    const lock = join(folder, 'lock');
    try {
      // A folder without a lock has just been made. Another user’s may be a trap.
      if (lstatSync(folder).uid !== process.getuid?.() || !existsSync(lock)) continue;
      openLock(lock).close();
      removeAll([folder]);
    } catch {
      // It is in use, or was removed by its process.
    }
  }
}

/** What a backup was found to be. */
export interface ExaminedBackup extends OpenedBackup {
  readonly aliveTokens: AliveCount;
  readonly clients: number;
  readonly people: number;
}

interface ExaminationOrder {
  /** The backup. */
  readonly file: string;
  readonly key: BackupKey;
  /** Where to write its database. The caller removes this file and those next to it. */
  readonly to: string;
  /** If set, the issuer that the backup must be of. */
  readonly issuer?: string;
  /** Receives what begins next. */
  readonly onStep?: (step: string) => void;
  /** Works on the database, which no server has used yet. */
  readonly work?: (database: OpenDatabase, manifest: BackupManifest) => Promise<void>;
}

/**
 * Opens a backup as a restore does: decrypts it, checks every page and index, and migrates its tables.
 * @throws {Refused} it is damaged, of another issuer, or of a newer version
 */
export async function examine(order: ExaminationOrder): Promise<ExaminedBackup> {
  const { file, key, to, issuer, work, onStep } = order;
  onStep?.('decrypting the backup');
  const opened = await openBackup(file, key, to, (manifest) => requireUsable(file, manifest, issuer));
  onStep?.('checking the database');
  const damage = damageIn(to, 'integrity_check');
  if (damage !== undefined)
    throw new Refused(`the database in ${file} is damaged (${damage}): use another backup.`);
  const found = foundIn(to);
  if (found?.issuer !== opened.manifest.issuer || found.lastEvent !== opened.manifest.lastEvent)
    throw new Refused(`the database in ${file} is not the one that it describes: use another backup.`);

  onStep?.('opening the database');
  const database = sqliteDatabase(to);
  try {
    const open = await database.open(opened.manifest.issuer);
    skipEventNumbers(to, SKIPPED_EVENTS);
    await work?.(open, opened.manifest);
    return {
      ...opened,
      aliveTokens: await open.storage.countAlive({ issuedBeforeMs: Number.MAX_SAFE_INTEGER }),
      clients: (await open.storage.clients.list()).length,
      people: (await open.people.list()).length,
    };
  } finally {
    await database.close();
  }
}

/** @returns `undefined` if it is not a database of grantd */
function foundIn(path: string): ReturnType<typeof contentOf> | undefined {
  try {
    return contentOf(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR') return undefined;
    throw error;
  }
}

/** More events than a database writes between a backup and its restoration. */
const SKIPPED_EVENTS = 1_000_000_000;

function requireUsable(
  file: string,
  { program, issuer, schemas, floors }: BackupManifest,
  wanted?: string,
): void {
  if (wanted !== undefined && wanted !== issuer)
    throw new Refused(
      `${file} is a backup of the issuer ${issuer}, not of ${wanted}: use another backup or --issuer.`,
    );
  const known = {
    library: SQLITE_STORE_TABLES.migrations.length,
    program: SQLITE_PROGRAM_TABLES.migrations.length,
  };
  if (floors.library > known.library || floors.program > known.program)
    throw new Refused(
      `${file} was written by grantd ${program}, whose SQLite tables (versions ${schemas.library} and ${schemas.program}) are newer ` +
        `than this version knows (${known.library} and ${known.program}): use that version, or a later one.`,
    );
}

interface RestoreOrder extends Omit<ExaminationOrder, 'to'> {
  /** The database to create. A PostgreSQL database is empty. */
  readonly database: StoredIn;
  /** The server’s secrets of the options, which then need no file. */
  readonly secrets?: readonly string[] | undefined;
  /** With PostgreSQL, the file to create for the server’s secret, unless the options set it. */
  readonly secretFile?: string | undefined;
}

export interface RestoredBackup extends ExaminedBackup {
  /** The file with the server’s secret; `undefined` if there is none. */
  readonly secretFile?: string;
}

/**
 * Creates a database from a backup, of whichever kind of database it is. Everything appears, or nothing.
 * @throws {Refused} the database exists, a file of an earlier one is in its place, or the backup cannot be used
 */
export async function restore({ database, ...order }: RestoreOrder): Promise<RestoredBackup> {
  return 'url' in database ? restorePostgres(database, order) : restoreFile(database.path, order);
}

async function restoreFile(
  path: string,
  { secrets: ofOptions, secretFile: _, ...order }: Omit<RestoreOrder, 'database'>,
): Promise<RestoredBackup> {
  requireNoDatabase(path);
  makeFolder(dirname(path));
  return alone(path, async () => {
    const draft = `${path}-restore`;
    const clear = () => removeAll([draft, ...beside(draft)]);
    // A killed process may have left them.
    clear();
    try {
      const examined = await examine({ ...order, to: draft });
      requireUsableSecret(path, examined.secrets, ofOptions);
      flush(draft);
      // If the process dies in between, the next restore finds the same secret.
      if (examined.secrets !== undefined && ofOptions === undefined) createSecretFile(path, examined.secrets);
      requireNoDatabase(path);
      putInPlace(draft, path);
      // Notes about the previous file.
      removeAll([`${path}-inodes`, `${path}-corrupt`]);
      return { ...examined, ...(existsSync(secretFileOf(path)) && { secretFile: secretFileOf(path) }) };
    } catch (error) {
      throw asRefused(error, path);
    } finally {
      clear();
    }
  });
}

/** The rows get into the database in one transaction, after everything else was checked. */
async function restorePostgres(
  { url, ...limits }: Extract<StoredIn, { url: string }>,
  { secrets: ofOptions, secretFile, ...order }: Omit<RestoreOrder, 'database'>,
): Promise<RestoredBackup> {
  const { copyToPostgres, requireEmptyPostgres } = await import('./postgres_copy.ts');
  await requireEmptyPostgres(url, limits);
  return inScratchFolder(async (folder) => {
    const draft = join(folder, 'grantd.db');
    const examined = await examine({ ...order, to: draft });
    requireUsableSecret(undefined, examined.secrets, ofOptions);
    const isKept = examined.secrets !== undefined && ofOptions === undefined && secretFile !== undefined;
    // First, so that no restored database lacks its secret.
    if (isKept) writeSecret(secretFile, examined.secrets);
    await copyToPostgres(draft, url, {
      ...limits,
      flag: '--database',
      onRows: (table, rows) => order.onStep?.(`${table}: ${rows} rows`),
    });
    return { ...examined, ...(isKept && { secretFile }) };
  });
}

/** A log of an earlier database would be merged into the restored one. */
function requireNoDatabase(path: string): void {
  const found = [path, `${path}-wal`, `${path}-shm`, `${path}-journal`].find((file) => existsSync(file));
  if (found === undefined) return;
  throw new Refused(
    found === path
      ? `${path} exists: stop every program that uses it, and move it away, together with ${path}-wal and ${path}-shm, or choose another with --database.`
      : `${found} of an earlier database exists: stop every program that uses it, and move it away.`,
  );
}

/** @throws {Refused} the file exists and has another content, or cannot be written */
function writeSecret(file: string, secrets: readonly string[]): void {
  try {
    makeFolder(dirname(file));
    writeFileSync(file, secretText(secrets), { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    // A restore that was killed may have left it.
    if (!isErrno(error, 'EEXIST')) throw asRefused(error, file);
    if (readFileSync(file, 'utf8') !== secretText(secrets))
      throw new Refused(`${file} exists, and is not the secret of the backup: move it away.`);
  }
}

/** @param path the database file, if the secret is kept next to it */
function requireUsableSecret(
  path: string | undefined,
  ofBackup: readonly string[] | undefined,
  ofOptions: readonly string[] | undefined,
): void {
  const [first] = ofBackup ?? [];
  if (first === undefined) return;
  if (ofOptions !== undefined) {
    if (ofOptions.includes(first)) return;
    throw new Refused(
      'the secret of the options (GRANTD_SECRET) is not the one of the backup: unset it, or set the same.',
    );
  }
  if (path === undefined) return;
  const present = readSecretFile(path);
  if (present === undefined || present.join() === ofBackup?.join()) return;
  throw new Refused(`${secretFileOf(path)} has another secret than the backup: move it away.`);
}

/** @returns the damage; `undefined` if there is none */
function damageIn(path: string, check: 'quick_check' | 'integrity_check'): string | undefined {
  try {
    const found = readSqlite(path, (database) =>
      String(database.prepare(`PRAGMA ${check}(1)`).get()?.[check]),
    );
    return found === 'ok' ? undefined : (found ?? 'missing').replaceAll('\n', ' ');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @throws {Refused} it has no issuer yet */
function contentOf(path: string): Pick<BackupManifest, 'issuer' | 'lastEvent' | 'schemas' | 'floors'> {
  const content = readSqlite(path, (database) => {
    const first = firstIssuerIn(database);
    if (first === undefined) return undefined;
    const library = SQLITE_STORE_TABLES.stateIn(database);
    const program = SQLITE_PROGRAM_TABLES.stateIn(database);
    return {
      ...first,
      schemas: { library: library.version, program: program.version },
      floors: { library: library.floor, program: program.floor },
    };
  });
  if (content === undefined) throw new Refused('the database has no issuer yet: start the server first.');
  return content;
}

/**
 * Runs work that only one process may do on a database at a time. The lock ends with the process, also if it is killed.
 * @throws {Refused} another process does it
 */
async function alone<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = openLock(`${path}-backup.lock`);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

/** Another process makes a backup of the same database, or restores one. */
export class BackupRunning extends Refused {
  override readonly name = 'Refused';
}

/** The file stays: if it were deleted, two processes could lock two files of the same name. */
function openLock(path: string): DatabaseSync {
  createPrivately(path);
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (!(error instanceof Error && 'errcode' in error && Number(error.errcode) % 256 === 5)) throw error;
    throw new BackupRunning(
      `another process is making or restoring a backup of this database: wait for it (${path}).`,
    );
  }
}

function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

function requireFree(to: string): void {
  if (existsSync(to)) throw new Refused(`${to} exists: choose another name for the backup.`);
}

/**
 * Gives a finished file its name, durably and without replacing another file.
 * @throws {Refused} a file of that name has appeared
 */
function putInPlace(draft: string, path: string): void {
  try {
    linkSync(draft, path);
    rmSync(draft);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw new Refused(`${path} has just appeared: nothing was replaced.`);
    // Some file systems have no links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].some((code) => isErrno(error, code))) throw error;
    renameSync(draft, path);
  }
  syncFolder(dirname(path));
}

function flush(path: string): void {
  const file = openSync(path, constants.O_RDWR);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The files that belong to a database by name, such as its log. */
function beside(path: string): readonly string[] {
  const start = `${basename(path)}-`;
  const files = readdirSync(dirname(path)).filter((file) => file.startsWith(start));
  return files.map((file) => join(dirname(path), file));
}

function removeAll(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true, recursive: true });
}

/** Errors of the file system, such as a full disk, in one line. */
function asRefused(error: unknown, path: string): unknown {
  if (error instanceof Refused || !(error instanceof Error) || !('syscall' in error)) return error;
  return new Refused(`${path} cannot be written: ${error.message}.`);
}
