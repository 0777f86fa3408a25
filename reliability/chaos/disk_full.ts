import type { Workbench } from '../../server/test/harness/program.ts';
import { onSmallDisk, whyNoFullDisk } from './small_disk.ts';

export interface DiskFullReport {
  /** Writes that were acknowledged though the disk was full: the log still had room. */
  readonly acknowledgedWhileFull: number;
  /** Writes that were answered by 503 with Retry-After. */
  readonly refusedWhileFull: number;
  /** Milliseconds, of the slowest answer while the disk was full. */
  readonly slowestMs: number;
  /** Looks at tokens while the disk was full, and how many of them were answered by 503. */
  readonly looks: number;
  readonly looksUnanswered: number;
  /** Milliseconds from the moment when there was room again until a revocation was acknowledged. */
  readonly recoveryMs: number;
  readonly faults: readonly string[];
}

const MEGABYTES = 6;

/** @returns why it could not be tried where no disk of our own can be mounted */
export async function diskFull(workbench: Workbench): Promise<DiskFullReport | string> {
  const folder = workbench.folder();
  const reason = whyNoFullDisk(folder);
  if (reason !== undefined) return reason;
  return JSON.parse(await onSmallDisk(folder, MEGABYTES, new URL('disk_full_stage.ts', import.meta.url)));
}
