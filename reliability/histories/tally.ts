import { isEnding, isRead, type Operation } from './operation.ts';
import { isConclusive, type Violation, violationsIn } from './violations.ts';

/** Counts over many histories. */
export interface Tally {
  histories: number;
  /** Histories in which a token was seen alive before its end and dead after it. */
  conclusive: number;
  operations: number;
  reads: number;
  /** Reads without a result: 503 or no response. */
  unknown: number;
  /** Reads that overlap the end of their token. */
  readsDuringEnd: number;
  /** Reads that began within a millisecond after the acknowledged end of their token. */
  readsRightAfterEnd: number;
  violations: number;
  readonly byScenario: Record<string, number>;
  /** The first violations, each with its whole history. */
  readonly examples: Example[];
}

export interface Example {
  readonly scenario: string;
  readonly violation: Violation;
  readonly history: readonly Operation[];
}

const MOST_EXAMPLES = 5;
const MILLISECOND_NS = 1e6;

export function emptyTally(): Tally {
  return {
    histories: 0,
    conclusive: 0,
    operations: 0,
    reads: 0,
    unknown: 0,
    readsDuringEnd: 0,
    readsRightAfterEnd: 0,
    violations: 0,
    byScenario: {},
    examples: [],
  };
}

/**
 * Checks and counts one run of a scenario.
 * @param histories the number of histories that it counts as
 */
export function count(
  tally: Tally,
  scenario: string,
  histories: number,
  operations: readonly Operation[],
): void {
  tally.histories += histories;
  tally.conclusive += isConclusive(operations) ? histories : 0;
  tally.operations += operations.length;
  tally.byScenario[scenario] = (tally.byScenario[scenario] ?? 0) + histories;
  const endings = operations.filter(isEnding).filter(({ op }) => op !== 'rotate');
  for (const read of operations.filter(isRead)) {
    tally.reads += 1;
    if (read.answer === 'unknown') tally.unknown += 1;
    const ending = endings.find(({ tokens, answer }) => answer === 'done' && tokens.includes(read.token));
    if (ending === undefined) continue;
    if (read.startNs <= ending.endNs && read.endNs >= ending.startNs) tally.readsDuringEnd += 1;
    const sinceEndNs = read.startNs - ending.endNs;
    if (sinceEndNs > 0 && sinceEndNs <= MILLISECOND_NS) tally.readsRightAfterEnd += 1;
  }
  for (const violation of violationsIn(operations)) {
    tally.violations += 1;
    if (tally.examples.length < MOST_EXAMPLES)
      tally.examples.push({ scenario, violation, history: operations });
  }
}

/** Adds another tally to this one. */
export function add(tally: Tally, other: Tally): void {
  for (const name of COUNTS) tally[name] += other[name];
  for (const [scenario, histories] of Object.entries(other.byScenario)) {
    tally.byScenario[scenario] = (tally.byScenario[scenario] ?? 0) + histories;
  }
  tally.examples.push(...other.examples.slice(0, MOST_EXAMPLES - tally.examples.length));
}

const COUNTS = [
  'histories',
  'conclusive',
  'operations',
  'reads',
  'unknown',
  'readsDuringEnd',
  'readsRightAfterEnd',
  'violations',
] as const;
