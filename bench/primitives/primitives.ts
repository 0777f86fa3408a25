import { spread } from '../statistics.ts';

/** Duration of one operation, in microseconds, over several runs. */
export interface Timing {
  readonly medianUs: number;
  readonly minUs: number;
  readonly maxUs: number;
  readonly runs: number;
}

/** The fastest of several implementations, and all of them by name. */
export interface Quickest extends Timing {
  readonly way: string;
  readonly ways: Readonly<Record<string, Timing>>;
}

/** The parts of requests, besides the exchange. */
export interface Primitives {
  readonly verifyRs256: Quickest;
  readonly verifyEs256: Quickest;
  readonly signRs256: Quickest;
  readonly signEs256: Quickest;
  /** The program's own lookup of an access token, a different one each time. */
  readonly lookUp: Timing;
  /** The program's own insertion of a token's row, inside an open transaction. */
  readonly insert: Timing;
  /** A transaction that changes one row, flushed to disk. */
  readonly commit: Timing;
}

/** @param runsUs microseconds per operation, of each run; at least one */
export function timingOf(runsUs: readonly number[]): Timing {
  const { median, min, max } = spread(runsUs);
  return { medianUs: median, minUs: min, maxUs: max, runs: runsUs.length };
}

/** @param ways at least one */
export function quickestOf(ways: Readonly<Record<string, Timing>>): Quickest {
  const [quickest] = Object.entries(ways).sort(([, a], [, b]) => a.medianUs - b.medianUs);
  if (quickest === undefined) throw new TypeError('there is no way to do it');
  const [way, timing] = quickest;
  return { ...timing, way, ways };
}
