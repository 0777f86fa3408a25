import assert from 'node:assert/strict';
import { join } from 'node:path';
import { grantd, grantdPrints } from './commands.ts';
import type { RunningServer, Workbench } from './program.ts';

export const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');

export interface BackedUpHome {
  readonly server: RunningServer;
  readonly folder: string;
  /** Flags of a backup. */
  readonly seal: readonly string[];
  /** Flags that open it. */
  readonly open: readonly string[];
}

/** A running server with demo data, and a key for its backups. */
export async function backedUpHome(workbench: Workbench): Promise<BackedUpHome> {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--demo']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  return { server, folder, seal: ['--recipient', recipient], open: ['--identity-file', 'backup.key'] };
}

/** Restores into a folder of its own, which is then the home of another server. */
export async function restored(
  workbench: Workbench,
  { folder: from, open }: BackedUpHome,
  backup: string,
  flags: readonly string[] = [],
): Promise<{ folder: string; shown: Record<string, unknown>; stderr: string }> {
  const folder = workbench.folder();
  const database = `sqlite:${databaseOf(folder)}`;
  const { code, stdout, stderr } = await grantd(from, [
    ...['restore', backup, '--database', database, '--json'],
    ...open,
    ...flags,
  ]);
  assert.equal(code, 0, stderr);
  return { folder, shown: JSON.parse(stdout), stderr };
}

/** Tokens of the demo's machine. */
export async function issue(folder: string, ...flags: readonly string[]): Promise<readonly string[]> {
  return (await grantdPrints(folder, ['token', 'issue', '--client', 'demo-machine', ...flags])).split('\n');
}
