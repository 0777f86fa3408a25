import { type Timing, timingOf } from './primitives.ts';

export interface Effort {
  /** The result is the median of this many runs. */
  readonly runs: number;
  /** Minimum seconds per run. */
  readonly seconds: number;
}

/**
 * Duration of one operation. The first run warms up and does not count.
 * @param some performs some operations; resolves to their number and their milliseconds
 */
export async function timed({ runs, seconds }: Effort, some: () => Promise<Batch> | Batch): Promise<Timing> {
  const runsUs: number[] = [];
  for (let run = 0; run <= runs; run++) {
    let operations = 0;
    let elapsedMs = 0;
    while (elapsedMs < seconds * 1000) {
      const batch = await some();
      operations += batch.operations;
      elapsedMs += batch.elapsedMs;
    }
    if (run > 0) runsUs.push((elapsedMs * 1000) / operations);
  }
  return timingOf(runsUs);
}

export interface Batch {
  readonly operations: number;
  readonly elapsedMs: number;
}

/** Performs an operation several times, one after another. */
export function inTurn(operations: number, operation: (index: number) => void): Batch {
  const begunAtMs = performance.now();
  for (let index = 0; index < operations; index++) operation(index);
  return { operations, elapsedMs: performance.now() - begunAtMs };
}

/** Starts all at once, like a server with many clients, and waits for the last. */
export async function atOnce(
  operations: number,
  operation: (index: number) => Promise<unknown>,
): Promise<Batch> {
  const begunAtMs = performance.now();
  await Promise.all(Array.from({ length: operations }, (_, index) => operation(index)));
  return { operations, elapsedMs: performance.now() - begunAtMs };
}
