import { ceiling, rateOfMix } from '../primitives/ceilings.ts';
import { SHARES } from '../works/mix.ts';
import type { RunResults } from './results.ts';

/** The share of writes in the mix. */
const WRITING = SHARES.issue + SHARES.revocation;
/** The fewest writes per commit, if 32 connections wait for one commit before they send again. */
const FEWEST_WRITES_OF_A_COMMIT = 32 * WRITING;

/**
 * Requests per second on one core if only the parts of each request took time, with the measured number of writes per
 * commit.
 * @param contestant whose commits count
 */
export function ceilingOfTheMix(results: RunResults, contestant = 'grantd'): number | undefined {
  const { primitives } = results;
  const bare = results.works.mix?.contestants.bare?.perSecond.median;
  if (bare === undefined || primitives === undefined) return undefined;
  const commits = 1 / Math.max(writesOfACommit(results, contestant), FEWEST_WRITES_OF_A_COMMIT);
  return rateOfMix([
    { share: SHARES.introspection, rate: ceiling(bare, primitives, { lookUps: 1 }) },
    { share: SHARES.issue, rate: ceiling(bare, primitives, { sign: 'ES256', inserts: 1, commits }) },
    { share: SHARES.revocation, rate: ceiling(bare, primitives, { lookUps: 1, inserts: 1, commits }) },
  ]);
}

/** The median of the rounds; 0 if it is unknown. */
function writesOfACommit({ works }: RunResults, contestant: string): number {
  const { perSecond, commitsPerSecond } = works.mix?.contestants[contestant] ?? {};
  if (perSecond === undefined || commitsPerSecond === undefined) return 0;
  return (perSecond.median * WRITING) / commitsPerSecond.median;
}
