import { type Timing, timingOf } from './primitives.ts';

export interface Effort {
  /** Of which the median is taken. */
  readonly runs: number;
  /** Seconds that each of them lasts at least. */
  readonly seconds: number;
}

/**
 * How long one operation takes. The first run warms up, and does not count.
 * @param some does some operations; resolves to how many and how many milliseconds they took
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

/** Does an operation several times, one after another. */
export function inTurn(operations: number, operation: (index: number) => void): Batch {
  const begunAtMs = performance.now();
  for (let index = 0; index < operations; index++) operation(index);
  return { operations, elapsedMs: performance.now() - begunAtMs };
}

/** Begins all at once, as a server does that many clients ask, and waits for the last. */
export async function atOnce(
  operations: number,
  operation: (index: number) => Promise<unknown>,
): Promise<Batch> {
  const begunAtMs = performance.now();
  await Promise.all(Array.from({ length: operations }, (_, index) => operation(index)));
  return { operations, elapsedMs: performance.now() - begunAtMs };
}
