import { setTimeout as pause } from 'node:timers/promises';
import { type AdministrableStorage, type SweepOptions, sweep } from '@grantd/core';
import type { ProgramData, SweepingBounds } from '../data/program_data.ts';
import { causeOf } from '../log/logged_error.ts';

type Sweepable = Pick<AdministrableStorage, 'sweep'>;

/** Combines the library’s rows and the program’s rows into one sweep. */
export function sweepable(
  storage: Sweepable,
  sweepProgram: ProgramData['sweepProgram'],
  bounds: () => SweepingBounds,
): Sweepable {
  return {
    async sweep(limit) {
      const bound = bounds();
      return (await storage.sweep(limit, bound.untilMs)) + (await sweepProgram(limit, bound));
    },
  };
}

/** The part of the log that sweeping needs. A thread implements it with messages. */
export interface SweepLog {
  info(line: object): void;
  error(line: object): void;
  /** Receives every sweep that did not fail, also those that found nothing. */
  readonly swept?: ((sweep: Sweep) => void) | undefined;
}

export interface Sweep {
  readonly rows: number;
  readonly durationMs: number;
}

/** Sweeps periodically until the signal. A failed sweep is retried at the next interval. */
export async function sweepPeriodically(
  storage: Sweepable,
  intervalSeconds: number,
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(storage, log, signal);
    // Rejects only when aborted.
    await pause(intervalSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Sweeps until no expired rows are left, or until the signal. */
export async function sweepOnce(
  storage: Sweepable,
  log: SweepLog,
  signal: AbortSignal,
  steps: Pick<SweepOptions, 'limit' | 'pauseMs'> = {},
): Promise<void> {
  const startedAtMs = performance.now();
  try {
    const rows = await sweep(storage, { ...steps, signal });
    log.swept?.({ rows, durationMs: performance.now() - startedAtMs });
    if (rows > 0) log.info({ event: 'swept', rows });
  } catch (error) {
    log.error({ event: 'sweep_failed', cause: causeOf(error) });
  }
}
