import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './postgres_installation.ts';
import { removeStale } from './postgres_remains.ts';

const PREFIX = 'grantd-postgres-';

let own: Promise<string> | undefined;

/**
 * A new folder owned by the account. It is removed soon after this process ends, with every server in it.
 * @param kind the beginning of its name
 */
export async function serverFolder(kind: string, account: Account): Promise<string> {
  own ??= guardedFolder(account);
  const folder = mkdtempSync(join(await own, `${kind}-`));
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

async function guardedFolder(account: Account): Promise<string> {
  const parent = reachableTemporaryFolder(account);
  await removeStale(parent, PREFIX);
  const folder = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  chmodSync(folder, 0o711);
  startWatchdog(folder);
  return folder;
}

/** root's TMPDIR may be closed to other users. */
function reachableTemporaryFolder(account: Account): string {
  const reached = spawnSync('/bin/sh', ['-c', 'cd "$0"', tmpdir()], { ...account, cwd: '/' });
  return reached.status === 0 ? tmpdir() : '/tmp';
}

function startWatchdog(folder: string): void {
  const watchdog = spawn(process.execPath, [join(import.meta.dirname, 'postgres_watchdog.ts')], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.stdin.write(`${folder}\n`);
  watchdog.unref();
  if (watchdog.stdin instanceof Socket) watchdog.stdin.unref();
}
