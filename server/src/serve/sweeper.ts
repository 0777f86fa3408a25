import { setTimeout as pause } from 'node:timers/promises';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';

const ROWS_AT_ONCE = 500;
const PAUSE_MS = 50;

/** Whoever deletes expired rows, a few at a time. */
export interface Sweepable {
  sweep(limit: number): number | Promise<number>;
}

/** Deletes batch after batch, with a pause between them for requests, until there is nothing left or it is told to stop. */
export async function* sweepAll(
  storage: Sweepable,
  pauseMs = PAUSE_MS,
  signal?: AbortSignal,
): AsyncGenerator<number> {
  for (;;) {
    const swept = await storage.sweep(ROWS_AT_ONCE);
    if (swept === 0) return;
    yield swept;
    await pause(pauseMs, undefined, { signal, ref: signal === undefined });
  }
}

/** Sweeps now and then until it is told to stop. A sweep that fails is tried again the next time. */
export async function sweepPeriodically(
  storage: Sweepable,
  intervalSeconds: number,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(storage, log, signal);
    // Rejects only where it is told to stop.
    await pause(intervalSeconds * 1000, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function sweepOnce(storage: Sweepable, log: Log, signal: AbortSignal): Promise<void> {
  try {
    let rows = 0;
    for await (const swept of sweepAll(storage, PAUSE_MS, signal)) rows += swept;
    if (rows > 0) log.info({ event: 'swept', rows });
  } catch (error) {
    if (!signal.aborted) log.error({ event: 'sweep_failed', cause: causeOf(error) });
  }
}
