/** The process of `scheduled_backups`: makes one backup, reports, and ends. It also ends if the server does. */
import { setPriority } from 'node:os';
import { Refused } from '../config/refused.ts';
import { BackupRunning, backUp, clearBackups } from '../data/backup.ts';
import type { BackupLock } from '../data/backup_file.ts';
import type { StoredIn } from '../data/database_of.ts';
import { readSecretFile, secretFileOf } from '../data/secrets.ts';

export interface BackupOrder {
  readonly database: StoredIn;
  /** The new backup. */
  readonly to: string;
  readonly lock: BackupLock;
  /** The server’s secrets of the options. */
  readonly secrets: readonly string[] | undefined;
}

export type BackupReport =
  | { readonly type: 'written'; readonly bytes: number }
  /** Another process makes one right now. */
  | { readonly type: 'running' }
  | { readonly type: 'failed'; readonly reason: string };

/** Nice value: requests go first. */
const PRIORITY = 10;

setPriority(PRIORITY);
process.once('message', async (order: BackupOrder) => {
  // The copy of the database is not sealed, so it should not stay.
  const stop = () => {
    clearBackups();
    process.exit(1);
  };
  process.on('SIGTERM', stop).on('disconnect', stop);
  const report = await backUpAs(order);
  process.off('disconnect', stop);
  process.send?.(report, () => process.disconnect?.());
});
// A signal to the whole process group, such as Ctrl-C, is meant for the server.
process.on('SIGINT', () => {});

async function backUpAs({ database, to, lock, secrets: ofOptions }: BackupOrder): Promise<BackupReport> {
  try {
    const path = 'path' in database ? database.path : undefined;
    const secrets = ofOptions ?? (path === undefined ? undefined : readSecretFile(path));
    if (secrets === undefined)
      throw new Refused(
        `the server's secret ${path === undefined ? '' : `${secretFileOf(path)} `}is missing`,
      );
    const { bytes } = await backUp({ database, to, lock, secrets });
    return { type: 'written', bytes };
  } catch (error) {
    if (error instanceof BackupRunning) return { type: 'running' };
    return { type: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}
