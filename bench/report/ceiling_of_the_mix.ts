import { ceiling, rateOfMix } from '../primitives/ceilings.ts';
import { SHARES } from '../works/mix.ts';
import type { RunResults } from './results.ts';

/** What part of the mix's requests write. */
const WRITING = SHARES.issue + SHARES.revocation;
/** Writes that come together at least where 32 connections are answered before one commit, and ask again. */
const FEWEST_WRITES_OF_A_COMMIT = 32 * WRITING;

/**
 * Requests a second on one core, if nothing but the parts of each request took time, and as many shared a commit as did.
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

/** The median of the rounds; 0 where it is not known. */
function writesOfACommit({ works }: RunResults, contestant: string): number {
  const { perSecond, commitsPerSecond } = works.mix?.contestants[contestant] ?? {};
  if (perSecond === undefined || commitsPerSecond === undefined) return 0;
  return (perSecond.median * WRITING) / commitsPerSecond.median;
}
