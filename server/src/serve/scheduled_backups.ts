import { fork } from 'node:child_process';
import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Configuration, typedPath } from '../config/configuration.ts';
import { ConfigurationRefused } from '../config/refused.ts';
import { type BackupLock, lockOf, PARTIAL } from '../data/backup_file.ts';
import type { StoredIn } from '../data/database_of.ts';
import { causeOf } from '../log/logged_error.ts';
import type { BackupOrder, BackupReport } from './backup_process.ts';
import type { SweepLog } from './sweeper.ts';

/** How a server backs up its database. */
export interface BackupPlan {
  readonly folder: string;
  readonly intervalSeconds: number;
  readonly keep: number;
  readonly lock: BackupLock;
}

/**
 * The plan of the options.
 * @returns `undefined` if the server makes no backups
 * @throws {ConfigurationRefused} a folder, key or passphrase cannot be used
 */
export async function backupPlanOf(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<BackupPlan | undefined> {
  const { settings, sourceOf } = configuration;
  if (settings.backupFolder === undefined) return undefined;
  const source = sourceOf('backupFolder');
  const folder = typedPath(environment, settings.backupFolder);
  // A missing folder may be a volume that is not mounted, so it is not created.
  if (!isWritableFolder(folder))
    throw new ConfigurationRefused(
      `${source}: ${folder}: expected an existing folder that this user can write`,
    );
  const { backupInterval: intervalSeconds, backupKeep: keep } = settings;
  return { folder, intervalSeconds, keep, lock: await lockOf(configuration, environment) };
}

function isWritableFolder(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/** What is backed up. */
interface BackedUp {
  readonly database: StoredIn;
  readonly issuer: string;
  /** The server’s secrets of the options. A file next to the database is read each time, because it may change. */
  readonly secrets: readonly string[] | undefined;
}

/** Lets the server start before the first backup. */
const FIRST_AFTER_MS = 5_000;

/** Milliseconds between two looks into the folder, where other processes may also have put backups. */
const LOOK_EVERY_MS = 60_000;

/** Milliseconds after a failure. */
const RETRY_AFTER_MS = 10 * 60_000;

/**
 * Makes backups periodically until the signal. What is due follows from the folder, so restarts neither skip nor add
 * one. Of several servers on one database, each backup is made by one.
 */
export async function backUpPeriodically(
  plan: BackupPlan,
  backedUp: BackedUp,
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  // Rejects only when aborted.
  const wait = (ms: number) => pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
  await wait(FIRST_AFTER_MS);
  while (!signal.aborted) {
    const isDone = await backUpIfDue(plan, backedUp, log, signal);
    const longestMs = isDone ? LOOK_EVERY_MS : RETRY_AFTER_MS;
    await wait(Math.min(longestMs, plan.intervalSeconds * 1000));
  }
}

/** Makes a backup if the newest one in the folder is too old. @returns `false` if it failed */
export async function backUpIfDue(
  plan: BackupPlan,
  backedUp: BackedUp,
  log: SweepLog,
  signal: AbortSignal,
  clock: () => number = Date.now,
): Promise<boolean> {
  const startedMs = performance.now();
  try {
    const nowMs = clock();
    if (!isDue(plan, backedUp.issuer, nowMs)) return true;
    const to = join(plan.folder, backupName(backedUp.issuer, nowMs));
    const report = await runProcess({ ...backedUp, to, lock: plan.lock }, signal);
    if (report === 'stopped' || report.type === 'running') return true;
    if (report.type === 'failed') {
      // Another server was faster.
      if (!isDue(plan, backedUp.issuer, nowMs)) return true;
      log.error({ event: 'backup_failed', file: to, reason: report.reason });
      return false;
    }
    const removed = removeOld(plan, backedUp.issuer, nowMs);
    const durationMs = Math.round(performance.now() - startedMs);
    log.info({ event: 'backup_written', file: to, bytes: report.bytes, durationMs, removed });
    return true;
  } catch (error) {
    log.error({ event: 'backup_failed', cause: causeOf(error) });
    return false;
  }
}

function isDue(plan: BackupPlan, issuer: string, nowMs: number): boolean {
  const newestMs = Math.min(nowMs, believable(plan, issuer, nowMs)[0]?.takenAtMs ?? 0);
  return nowMs - newestMs >= plan.intervalSeconds * 1000;
}

/** Backups of an issuer, the newest first, without those of a server whose clock was far ahead. */
function believable(
  { folder, intervalSeconds }: BackupPlan,
  issuer: string,
  nowMs: number,
): readonly FoundBackup[] {
  return backupsIn(folder, issuer).filter(({ takenAtMs }) => takenAtMs - nowMs < intervalSeconds * 1000);
}

interface FoundBackup {
  readonly path: string;
  readonly takenAtMs: number;
}

/** The name tells issuer and time, so that one folder can hold the backups of several servers. */
function backupName(issuer: string, takenAtMs: number): string {
  const time = new Date(takenAtMs).toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '');
  return `${namePart(issuer)}-${time}.age`;
}

function namePart(issuer: string): string {
  return issuer.replace(/^https?:\/\//, '').replaceAll(/[^\w.]/g, '_');
}

/** Backups of an issuer by this server or another one, the newest first. */
function backupsIn(folder: string, issuer: string, suffix = ''): readonly FoundBackup[] {
  const start = `${namePart(issuer)}-`;
  const found = readdirSync(folder).flatMap((name): readonly FoundBackup[] => {
    if (!name.startsWith(start) || !name.endsWith(suffix)) return [];
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.age$/.exec(
        name.slice(start.length, name.length - suffix.length),
      ) ?? [];
    if (year === undefined) return [];
    const takenAtMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    return [{ path: join(folder, name), takenAtMs }];
  });
  return found.sort((a, b) => b.takenAtMs - a.takenAtMs);
}

/** Milliseconds after which an unfinished backup was left by a process that was killed. */
const UNFINISHED_MS = 24 * 60 * 60 * 1000;

/** Also removes what killed backups have left. @returns the number of deleted backups */
function removeOld(plan: BackupPlan, issuer: string, nowMs: number): number {
  const old = believable(plan, issuer, nowMs).slice(plan.keep);
  const left = backupsIn(plan.folder, issuer, PARTIAL).filter(
    ({ takenAtMs }) => nowMs - takenAtMs > UNFINISHED_MS,
  );
  for (const { path } of [...old, ...left]) rmSync(path, { force: true });
  return old.length;
}

/** Has this file’s extension, because the program runs both from source and compiled. */
const PROGRAM = join(import.meta.dirname, `backup_process${extname(import.meta.filename)}`);

/**
 * Makes a backup in a process of its own, which runs at a lower priority than the server and can be stopped at any time.
 * @returns `stopped` if the signal came first
 */
function runProcess(order: BackupOrder, signal: AbortSignal): Promise<BackupReport | 'stopped'> {
  const { promise, resolve, reject } = Promise.withResolvers<BackupReport | 'stopped'>();
  const child = fork(PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const stop = () => child.kill();
  child.once('message', (report) => resolve(report as BackupReport));
  child.once('error', reject);
  child.once('close', (code, killedBy) => {
    if (signal.aborted) resolve('stopped');
    else reject(new Error(`the process that makes the backup ended with ${killedBy ?? code}`));
  });
  // If sending fails, the process has ended.
  child.send(order, () => {});
  signal.addEventListener('abort', stop, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', stop));
}
