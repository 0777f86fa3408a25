import type { Workbench } from '../../server/test/harness/program.ts';
import type { PostgresDiskFullReport } from './postgres_disk_full_stage.ts';
import { onSmallDisk, whyNoFullDisk } from './small_disk.ts';

export interface DiskFullReport {
  /** Writes that were acknowledged although the disk was full, because the log still had room. */
  readonly acknowledgedWhileFull: number;
  /** Writes that got 503 with Retry-After. */
  readonly refusedWhileFull: number;
  /** The slowest response while the disk was full, in milliseconds. */
  readonly slowestMs: number;
  /** Reads while the disk was full, and how many of them got 503. */
  readonly looks: number;
  readonly looksUnanswered: number;
  /** Milliseconds from the moment when there was room again until a revocation was acknowledged. */
  readonly recoveryMs: number;
  readonly faults: readonly string[];
}

const MEGABYTES = 6;

/** @returns the reason if this machine cannot mount a disk for the test */
export async function diskFull(workbench: Workbench): Promise<DiskFullReport | string> {
  const folder = workbench.folder();
  const reason = whyNoFullDisk(folder);
  if (reason !== undefined) return reason;
  return JSON.parse(await onSmallDisk(folder, MEGABYTES, new URL('disk_full_stage.ts', import.meta.url)));
}

/** Enough for a new database of PostgreSQL, which takes 8 MB. */
const POSTGRES_MEGABYTES = 24;

/** @returns the reason if this machine cannot mount a disk for PostgreSQL, whose user is another one */
export async function postgresDiskFull(workbench: Workbench): Promise<PostgresDiskFullReport | string> {
  const folder = workbench.folder();
  const reason =
    process.getuid?.() === 0 ? whyNoFullDisk(folder) : 'only root can give PostgreSQL a small disk';
  if (reason !== undefined) return reason;
  const stage = new URL('postgres_disk_full_stage.ts', import.meta.url);
  return JSON.parse(await onSmallDisk(folder, POSTGRES_MEGABYTES, stage));
}
