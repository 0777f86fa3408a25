import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newIdentity } from '../../server/src/data/backup_file.ts';
import { grantd, outputOf } from '../../server/test/harness/program.ts';
import { SECRET } from '../deployments/identity.ts';
import type { Latency } from '../load/latency.ts';
import { addLoaded, ENVIRONMENT, type Loaded, type Stage, underLoad } from './scale_stage.ts';

const LONGEST_BACKUP_MS = 3_600_000;

const UNKNOWN: Latency = {
  requests: 0,
  p50: Number.NaN,
  p99: Number.NaN,
  p999: Number.NaN,
  max: Number.NaN,
};

/** Backs the database up under load, and restores it. */
export async function measureBackup(stage: Stage): Promise<void> {
  const { order, folder, cluster, postgres, add } = stage;
  const [row] = await cluster.rows(
    postgres
      ? 'SELECT pg_database_size(current_database())::float8 AS bytes'
      : 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  );
  const bytes = Number(row?.bytes);
  let seconds = Number.NaN;
  let backupBytes = Number.NaN;
  let restoredSeconds = Number.NaN;
  let loaded: Loaded = { reads: UNKNOWN, writes: UNKNOWN, refused: Number.NaN };
  if (4 * bytes <= order.gigabytes * 1e9) {
    order.onStep('backup');
    const { identity, recipient } = await newIdentity();
    const to = join(folder, 'backup.age');
    const environment = { ...ENVIRONMENT, GRANTD_SECRET: SECRET, GRANTD_DATABASE: cluster.database };
    const args = ['backup', to, '--recipient', recipient];
    const begunAtMs = performance.now();
    loaded = await underLoad(stage, async () => {
      outputOf(args, await grantd(folder, args, { environment, longestMs: LONGEST_BACKUP_MS }));
    });
    seconds = (performance.now() - begunAtMs) / 1000;
    backupBytes = statSync(to).size;
    order.onStep('restore');
    restoredSeconds = await restore(folder, to, identity);
    rmSync(to);
  }
  add('backup', 's', seconds);
  add('restore to a new SQLite file', 's', restoredSeconds);
  add('size of the backup', 'GB', backupBytes / 1e9);
  addLoaded(stage, 'during the backup', loaded);
}

/** @returns seconds */
async function restore(folder: string, backup: string, identity: string): Promise<number> {
  const [key, restored] = [join(folder, 'backup.key'), join(folder, 'restored.db')];
  writeFileSync(key, identity, { mode: 0o600 });
  const environment = { ...ENVIRONMENT, GRANTD_SECRET: SECRET, GRANTD_DATABASE: `sqlite:${restored}` };
  const args = ['restore', backup, '--identity-file', key];
  const begunAtMs = performance.now();
  outputOf(args, await grantd(folder, args, { environment, longestMs: LONGEST_BACKUP_MS }));
  const seconds = (performance.now() - begunAtMs) / 1000;
  rmSync(restored);
  return seconds;
}
