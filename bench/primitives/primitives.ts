import { spread } from '../statistics.ts';

/** How long one operation takes, in microseconds: of several runs. */
export interface Timing {
  readonly medianUs: number;
  readonly minUs: number;
  readonly maxUs: number;
  readonly runs: number;
}

/** The quickest of several ways to do the same, and all of them by name. */
export interface Quickest extends Timing {
  readonly way: string;
  readonly ways: Readonly<Record<string, Timing>>;
}

/** What requests are made of, besides the exchange itself. */
export interface Primitives {
  readonly verifyRs256: Quickest;
  readonly verifyEs256: Quickest;
  readonly signRs256: Quickest;
  readonly signEs256: Quickest;
  /** The program's own look-up of an access token, each time another one. */
  readonly lookUp: Timing;
  /** The program's own insertion of a token's row, in a transaction that is open already. */
  readonly insert: Timing;
  /** A transaction that changes one row and is on disk. */
  readonly commit: Timing;
}

/** @param runsUs microseconds an operation, of each run; at least one */
export function timingOf(runsUs: readonly number[]): Timing {
  const { median, min, max } = spread(runsUs);
  return { medianUs: median, minUs: min, maxUs: max, runs: runsUs.length };
}

/** @param ways at least one */
export function quickestOf(ways: Readonly<Record<string, Timing>>): Quickest {
  const [quickest] = Object.entries(ways).sort(([, one], [, other]) => one.medianUs - other.medianUs);
  if (quickest === undefined) throw new TypeError('there is no way to do it');
  const [way, timing] = quickest;
  return { ...timing, way, ways };
}
