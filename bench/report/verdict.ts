import { TWO_WORKERS } from '../works/mix.ts';
import { percent } from './formats.ts';
import type { GoalResult } from './goals.ts';
import type { ContestantResult, RunResults } from './results.ts';

/** From this share of a core on, the generator may be the bottleneck, unless the server was as busy. */
const GENERATOR_IS_BUSY = 0.9;
const SERVER_IS_BUSY = 0.95;
/** From this share of a core on, in half of the rounds, other programs slowed down the measurement. */
export const OTHERS_INTERFERE = 0.2;

/** Whether a goal was met, or why that is unknown. Empty without a goal or a measurement. */
export function verdict(results: RunResults, goal: GoalResult): string {
  const { machine, works, othersCpu } = results;
  const { work, leastCores = 0, restsOn = [], isMet } = goal;
  if (isMet === undefined) return '';
  const all = [work, ...restsOn];
  const contestants = all.flatMap((each) => Object.values(works[each]?.contestants ?? {}));
  if (machine.cores < leastCores) {
    const share = works[work]?.contestants[TWO_WORKERS]?.generatorCpu?.max;
    return `no verdict: the generator shares their cores, and takes up to ${percent(share)} of one`;
  }
  if (goal.isValid?.(results) === false) return 'no verdict: the generator did not keep the rate';
  if (contestants.some(hasBusyGenerator)) return 'no verdict: the generator was too slow';
  const others = [
    ...contestants.flatMap((contestant) => contestant.othersCpu?.median ?? []),
    ...all.flatMap((each) => othersCpu[each] ?? []),
  ];
  if (others.some((share) => share >= OTHERS_INTERFERE))
    return 'no verdict: other programs kept the machine busy';
  return isMet ? 'met' : 'not met';
}

export function hasBusyGenerator({
  generatorCpu,
  serverCpu,
}: Pick<ContestantResult, 'generatorCpu' | 'serverCpu'>): boolean {
  if (generatorCpu === undefined || generatorCpu.max < GENERATOR_IS_BUSY) return false;
  return serverCpu === undefined || serverCpu.min < SERVER_IS_BUSY;
}
