import { ceiling, rateOfMix } from '../primitives/ceilings.ts';
import { SHARES } from '../works/mix.ts';
import type { ContestantResult, RunResults } from './results.ts';

/** One bound on what was measured. */
export interface Goal {
  /** What has to be measured for it. */
  readonly work: string;
  /** What the number is, after it: `of bare`. */
  readonly of: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** Cores without which it says nothing. */
  readonly leastCores?: number;
  /** `undefined` where that was not measured. */
  value(results: RunResults): number | undefined;
}

export interface GoalResult extends Omit<Goal, 'value'> {
  readonly value: number | undefined;
  readonly isMet: boolean | undefined;
}

/** What part of the mix's requests write. */
const WRITING = SHARES.issue + SHARES.revocation;
/** Writes that come together at least where 32 connections are answered before one commit, and ask again. */
const FEWEST_WRITES_OF_A_COMMIT = 32 * WRITING;
const MEBIBYTE = 2 ** 20;

const ofBare = (work: string, atLeast: number): Goal => ({
  work,
  of: 'of bare',
  atLeast,
  value: (results) => find(results, work)?.ofBare?.median,
});

const ofCeiling = (
  work: string,
  parts: Parameters<typeof ceiling>[2],
  of: string,
  atLeast: number,
): Goal => ({
  work,
  of,
  atLeast,
  value: (results) => {
    const bare = rate(results, work, 'bare');
    return results.primitives && ratio(rate(results, work), bare && ceiling(bare, results.primitives, parts));
  },
});

export const GOALS: readonly Goal[] = [
  ofBare('introspection-jwt', 0.6),
  {
    work: 'introspection-jwt',
    of: 'times the fastest peer',
    atLeast: 3,
    value: (results) => ratio(rate(results, 'introspection-jwt'), fastestPeer(results, 'introspection-jwt')),
  },
  {
    work: 'introspection-jwt',
    of: 'times oidc-provider',
    atLeast: 4.5,
    value: (results) =>
      ratio(rate(results, 'introspection-jwt'), rate(results, 'introspection-jwt', 'oidc-provider')),
  },
  ofBare('introspection-jwt-beside-writer', 0.5),
  ofBare('introspection-opaque', 0.6),
  ofCeiling('introspection-cold-rs256', { verify: 'RS256', lookUps: 1 }, 'of the ceiling', 0.8),
  ofCeiling('introspection-cold-es256', { verify: 'ES256', lookUps: 1 }, 'of the ceiling', 0.8),
  ofBare('userinfo', 0.55),
  {
    work: 'userinfo',
    of: 'times oidc-provider',
    atLeast: 3,
    value: (results) => ratio(rate(results, 'userinfo'), rate(results, 'userinfo', 'oidc-provider')),
  },
  {
    work: 'revocation-1',
    of: 'of the file’s own rate of commits',
    atLeast: 0.5,
    value: (results) => ratio(rate(results, 'revocation-1'), commitRate(results)),
  },
  {
    work: 'revocation-64',
    of: 'of the smaller of 3 times the rate of commits and half of opaque introspection',
    atLeast: 1,
    value: (results) => {
      const [commits, opaque] = [commitRate(results), rate(results, 'introspection-opaque')];
      const most = commits && opaque && Math.min(3 * commits, opaque / 2);
      return ratio(rate(results, 'revocation-64'), most);
    },
  },
  {
    work: 'mix',
    of: 'of the ceiling, one process',
    atLeast: 0.6,
    value: (results) => ratio(rate(results, 'mix'), ceilingOfTheMix(results)),
  },
  {
    work: 'mix',
    of: 'of the ceiling, two workers',
    atLeast: 0.6,
    value: (results) => ratio(rate(results, 'mix', 'grantd, 2 workers'), ceilingOfTheMix(results)),
  },
  {
    work: 'mix',
    of: 'times one process, by two workers',
    atLeast: 1.6,
    // One for each worker, and one for the generator.
    leastCores: 3,
    value: (results) => ratio(rate(results, 'mix', 'grantd, 2 workers'), rate(results, 'mix')),
  },
  ofCeiling('client-credentials', { sign: 'ES256', inserts: 1, commits: 1 / 64 }, 'of the ceiling', 0.6),
  {
    work: 'growth',
    of: 'of the throughput, with a thousand times as many records',
    atLeast: 0.9,
    value: (results) => growth(results, ({ perSecond }) => perSecond.median),
  },
  {
    work: 'growth',
    of: 'times the 99th percentile, with a thousand times as many records',
    atMost: 2,
    value: (results) => growth(results, ({ p99Ms }) => p99Ms.median),
  },
  {
    work: 'memory',
    of: 'MiB resident',
    atMost: 150,
    value: ({ memory }) => memory && Math.max(...memory.afterPasses) / MEBIBYTE,
  },
  {
    work: 'memory',
    of: 'times as much after the last pass as after the middle one',
    atMost: 1.05,
    value: ({ memory }) =>
      ratio(memory?.afterPasses.at(-1), memory?.afterPasses[Math.floor(memory.afterPasses.length / 2)]),
  },
  { work: 'start', of: 'ms to the first right answer', atMost: 300, value: ({ start }) => start?.median },
  ofBare('introspection-postgres', 0.8),
];

export function goalResults(results: RunResults): readonly GoalResult[] {
  return GOALS.map((goal) => {
    const value = goal.value(results);
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = goal;
    return { ...goal, value, isMet: value === undefined ? undefined : value >= atLeast && value <= atMost };
  });
}

/** Requests a second, if nothing but the parts of each request took time, and as many shared a commit as did. */
export function ceilingOfTheMix(results: RunResults): number | undefined {
  const { primitives } = results;
  const bare = rate(results, 'mix', 'bare');
  if (bare === undefined || primitives === undefined) return undefined;
  const commits = 1 / Math.max(writesOfACommit(results) ?? 0, FEWEST_WRITES_OF_A_COMMIT);
  return rateOfMix([
    { share: SHARES.introspection, rate: ceiling(bare, primitives, { lookUps: 1 }) },
    { share: SHARES.issue, rate: ceiling(bare, primitives, { sign: 'ES256', inserts: 1, commits }) },
    { share: SHARES.revocation, rate: ceiling(bare, primitives, { lookUps: 1, inserts: 1, commits }) },
  ]);
}

/** Of the mix, by one process; the median of the rounds. */
export function writesOfACommit(results: RunResults): number | undefined {
  const { perSecond, commitsPerSecond } = find(results, 'mix') ?? {};
  return ratio(perSecond && perSecond.median * WRITING, commitsPerSecond?.median);
}

function find({ works }: RunResults, work: string, contestant = 'grantd'): ContestantResult | undefined {
  return works[work]?.contestants[contestant];
}

function rate(results: RunResults, work: string, contestant?: string): number | undefined {
  return find(results, work, contestant)?.perSecond.median;
}

function fastestPeer(results: RunResults, work: string): number | undefined {
  const rates = Object.entries(results.works[work]?.contestants ?? {})
    .filter(([name]) => name !== 'bare' && !name.startsWith('grantd'))
    .map(([, { perSecond }]) => perSecond.median);
  return rates.length === 0 ? undefined : Math.max(...rates);
}

function commitRate({ primitives }: RunResults): number | undefined {
  return primitives && 1e6 / primitives.commit.medianUs;
}

/** The largest database against the smallest. */
function growth(results: RunResults, pick: (result: ContestantResult) => number): number | undefined {
  const values = Object.values(results.works.growth?.contestants ?? {}).map(pick);
  return values.length < 2 ? undefined : ratio(values.at(-1), values[0]);
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}
