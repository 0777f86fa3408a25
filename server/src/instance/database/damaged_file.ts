import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { openSqliteConnection } from '@grantd/core/sqlite';
import { Refused } from '../refused.ts';

/** Larger files are not checked as a whole after a crash: that would take minutes. */
const MOST_BYTES_CHECKED = 1024 ** 3;

/** Beside a database that was found corrupt, for every process that uses it and for the next start. */
const markOf = (path: string) => `${path}-corrupt`;

export function isMarkedDamaged(path: string): boolean {
  return existsSync(markOf(path));
}

/** @param reason what SQLite said */
export function markDamaged(path: string, reason: string): void {
  try {
    writeFileSync(markOf(path), `${reason}\n`, { mode: 0o600 });
  } catch {
    // On a full disk there is no mark: each process then finds the damage itself.
  }
}

/**
 * Checks a file that was found corrupt, which may have been replaced since.
 * @throws {Refused} it still is
 */
export function requireUndamaged(path: string): void {
  if (!isMarkedDamaged(path)) return;
  const damage = damageOf(path);
  if (damage === undefined) {
    rmSync(markOf(path), { force: true });
    return;
  }
  throw corruptionRefused(path, damage);
}

/** @param damage what is wrong, in SQLite's words */
export function corruptionRefused(path: string, damage: string): Refused {
  return new Refused(
    `the database ${path} is corrupt (${damage}): stop every program that uses it, move it away with ${path}-wal and ` +
      `${path}-shm, and put a backup in its place.`,
  );
}

/** Whether a process that was killed has left its log. To be asked before the file is opened. */
export function wasLeftOpen(path: string): boolean {
  return sizeOf(`${path}-wal`) > 0;
}

/** Looks through a file after a crash, and marks it if it is damaged. Takes seconds for a million tokens. */
export function checkAfterCrash(path: string): void {
  if (sizeOf(path) > MOST_BYTES_CHECKED) return;
  const damage = damageOf(path);
  if (damage !== undefined) markDamaged(path, damage);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** @returns what is wrong; `undefined` if nothing is */
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
