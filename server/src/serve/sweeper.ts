import { setTimeout as pause } from 'node:timers/promises';
import { type AdministrableStorage, sweep } from '@grantd/core';
import { causeOf } from '../log/log.ts';

type Sweepable = Pick<AdministrableStorage, 'sweep'>;

/** The library's rows and the program's, as one to sweep. */
export function sweepable(storage: Sweepable, sweepProgram: (limit: number) => Promise<number>): Sweepable {
  return { sweep: async (limit) => (await storage.sweep(limit)) + (await sweepProgram(limit)) };
}

/** The part of a log that sweeping needs; also where it runs in a thread that has none. */
export interface SweepLog {
  info(line: object): void;
  error(line: object): void;
}

/** Sweeps now and then until it is told to stop. A sweep that fails is tried again the next time. */
export async function sweepPeriodically(
  storage: Sweepable,
  intervalSeconds: number,
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(storage, log, signal);
    // Rejects only where it is told to stop.
    await pause(intervalSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Sweeps until nothing is left to sweep, or it is told to stop. */
export async function sweepOnce(storage: Sweepable, log: SweepLog, signal: AbortSignal): Promise<void> {
  try {
    const rows = await sweep(storage, { signal });
    if (rows > 0) log.info({ event: 'swept', rows });
  } catch (error) {
    log.error({ event: 'sweep_failed', cause: causeOf(error) });
  }
}
