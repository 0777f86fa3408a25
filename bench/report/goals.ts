import { keptItsRate } from '../load/open_loop.ts';
import { ceiling, type Parts } from '../primitives/ceilings.ts';
import { ACCESS_TOKENS, REFRESH_TOKENS } from '../works/growth.ts';
import { UNBOUND } from '../works/introspection.ts';
import { A_TENTH } from '../works/introspection_many.ts';
import { TWO_WORKERS } from '../works/mix.ts';
import type { OpenLoop } from '../works/open_loop.ts';
import { ON_TWO_CORES, WITHOUT_PROOF } from '../works/refresh_token.ts';
import { ceilingOfTheMix } from './ceiling_of_the_mix.ts';
import type { ContestantResult, RunResults } from './results.ts';

/** A bound on a measured value. Without a bound the value is only shown. */
interface Goal {
  /** The work that it needs. */
  readonly work: string;
  /** The unit after the number: `of bare`. */
  readonly of: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** The number of cores without which the value means nothing. */
  readonly leastCores?: number;
  /** Further measurements that it needs: other works, and the parts of ceilings. */
  readonly restsOn?: readonly string[];
  /** Whether the generator did what it should have. Default: yes, unless it was the bottleneck. */
  isValid?(results: RunResults): boolean;
  /** `undefined` if it was not measured. */
  value(results: RunResults): number | undefined;
  /** The value of a server that does only some parts of the work, which nothing can exceed. Needs the parts of ceilings. */
  bound?(results: RunResults): number | undefined;
}

export interface GoalResult extends Omit<Goal, 'value' | 'bound'> {
  readonly value: number | undefined;
  readonly bound: number | undefined;
  /** `undefined` without a bound or a measurement. */
  readonly isMet: boolean | undefined;
}

/** Measurements other than works, by the names under which the report shows the use of other programs. */
export const PARTS_OF_CEILINGS = 'parts of ceilings';

const MEBIBYTE = 2 ** 20;
/** One per worker, and one for the generator. */
const CORES_FOR_TWO_WORKERS = 3;

const ofCeiling = (work: string, parts: Parts, atLeast?: number): Goal => ({
  work,
  of: 'of the ceiling',
  restsOn: [PARTS_OF_CEILINGS],
  ...(atLeast !== undefined && { atLeast }),
  value: (results) => {
    const bare = rate(results, work, 'bare');
    return results.primitives && ratio(rate(results, work), bare && ceiling(bare, results.primitives, parts));
  },
});

/** @param peer in memory, or with the same storage */
const timesOidcProvider = (
  work: string,
  atLeast: number,
  peer: 'oidc-provider' | 'oidc-provider, PostgreSQL' = 'oidc-provider',
): Goal => ({
  work,
  of: `times ${peer}`,
  atLeast,
  value: (results) => ratio(rate(results, work), rate(results, work, peer)),
});

/** Times oidc-provider in memory, next to the most that a server reaches which only answers and signs. */
const timesOidcProviderOf = (work: string, atLeast: number, parts: Parts): Goal => ({
  ...timesOidcProvider(work, atLeast),
  bound(results) {
    const bare = rate(results, work, 'bare');
    const most = results.primitives && bare && ceiling(bare, results.primitives, parts);
    return ratio(most, rate(results, work, 'oidc-provider'));
  },
});

/** The thread pool signs with RSA on the second core. The generator is on it too, but takes few percent of it. */
const timesOneCore = (work: string): Goal => ({
  work,
  of: 'times one core, one process on 2 cores',
  atLeast: 1.5,
  value: (results) => ratio(rate(results, work, ON_TWO_CORES), rate(results, work)),
});

const ofOpenLoop = (
  of: string,
  atMost: number,
  phases: readonly ('rest' | 'sweeping')[],
  value: (openLoop: OpenLoop) => number,
): Goal => ({
  work: 'open-loop',
  of,
  atMost,
  isValid: ({ openLoop }) => openLoop === undefined || phases.every((phase) => keptItsRate(openLoop[phase])),
  value: ({ openLoop }) => openLoop && value(openLoop),
});

export const GOALS: readonly Goal[] = [
  timesOidcProvider('introspection-jwt', 3.5),
  {
    work: 'introspection-jwt',
    of: 'µs of CPU time per request',
    atMost: 36,
    value: (results) => find(results, 'introspection-jwt')?.cpuUs?.median,
  },
  {
    work: 'introspection-jwt',
    of: 'times the fastest peer',
    atLeast: 3,
    value: (results) => ratio(rate(results, 'introspection-jwt'), fastestPeer(results, 'introspection-jwt')),
  },
  {
    work: 'introspection-jwt-beside-writer',
    of: 'of the ratio to bare that is reached without a writer',
    atLeast: 0.9,
    restsOn: ['introspection-jwt'],
    value: (results) =>
      ratio(
        find(results, 'introspection-jwt-beside-writer')?.ofBare?.median,
        find(results, 'introspection-jwt')?.ofBare?.median,
      ),
  },
  timesOidcProvider('introspection-opaque', 3.5),
  ofCeiling('introspection-cold-opaque', { lookUps: 1 }, 0.6),
  ofCeiling('introspection-cold-rs256', { verify: 'RS256', lookUps: 1 }, 0.6),
  ofCeiling('introspection-cold-es256', { verify: 'ES256', lookUps: 1 }, 0.7),
  {
    work: 'introspection-dpop',
    of: 'of the throughput with tokens that are not bound',
    atLeast: 0.97,
    value: (results) =>
      ratio(rate(results, 'introspection-dpop'), rate(results, 'introspection-dpop', UNBOUND)),
  },
  {
    work: 'introspection-many',
    of: 'of the throughput with a tenth of the tokens',
    atLeast: 0.8,
    value: (results) =>
      ratio(rate(results, 'introspection-many'), rate(results, 'introspection-many', A_TENTH)),
  },
  {
    work: 'introspection-many',
    of: 'MiB resident more than with a tenth of the tokens',
    atMost: 250,
    value: (results) => {
      const resident = (contestant?: string) =>
        find(results, 'introspection-many', contestant)?.residentBytes?.median;
      const [all, tenth] = [resident(), resident(A_TENTH)];
      return all && tenth && (all - tenth) / MEBIBYTE;
    },
  },
  timesOidcProvider('userinfo', 3),
  {
    work: 'revocation-1',
    of: 'of the commit rate of the file',
    restsOn: [PARTS_OF_CEILINGS],
    atLeast: 0.5,
    value: (results) => ratio(rate(results, 'revocation-1'), commitRate(results)),
  },
  {
    work: 'revocation-64',
    of: 'of 3 times the commit rate, or of half the rate of `introspection-opaque` if that is lower',
    restsOn: [PARTS_OF_CEILINGS, 'introspection-opaque'],
    atLeast: 0.8,
    value: (results) => {
      const [commits, opaque] = [commitRate(results), rate(results, 'introspection-opaque')];
      const most = commits && opaque && Math.min(3 * commits, opaque / 2);
      return ratio(rate(results, 'revocation-64'), most);
    },
  },
  timesOidcProvider('mix', 3.5),
  {
    work: 'mix',
    of: 'of the ceiling, one process',
    atLeast: 0.6,
    restsOn: [PARTS_OF_CEILINGS],
    value: (results) => ratio(rate(results, 'mix'), ceilingOfTheMix(results)),
  },
  {
    work: 'mix',
    of: 'of twice the ceiling of one core, 2 workers',
    atLeast: 0.6,
    leastCores: CORES_FOR_TWO_WORKERS,
    restsOn: [PARTS_OF_CEILINGS],
    value: (results) => {
      const ofOneCore = ceilingOfTheMix(results, TWO_WORKERS);
      return ratio(rate(results, 'mix', TWO_WORKERS), ofOneCore && 2 * ofOneCore);
    },
  },
  {
    work: 'mix',
    of: 'times one process, 2 workers',
    atLeast: 1.7,
    leastCores: CORES_FOR_TWO_WORKERS,
    value: (results) => ratio(rate(results, 'mix', TWO_WORKERS), rate(results, 'mix')),
  },
  ofCeiling('client-credentials', { sign: 'ES256', inserts: 1, commits: 1 / 64 }, 0.5),
  timesOidcProviderOf('refresh-token', 1, { sign: 'RS256', signatures: 2 }),
  timesOneCore('refresh-token'),
  timesOidcProviderOf('refresh-token-opaque', 1.5, { sign: 'RS256' }),
  timesOneCore('refresh-token-opaque'),
  ofCeiling(
    'refresh-token-es256',
    { sign: 'ES256', signatures: 2, lookUps: 1, inserts: 2, commits: 1 / 32 },
    0.5,
  ),
  {
    work: 'refresh-token-dpop',
    of: 'of the throughput without proofs',
    atLeast: 0.7,
    value: (results) =>
      ratio(rate(results, 'refresh-token-dpop'), rate(results, 'refresh-token-dpop', WITHOUT_PROOF)),
  },
  timesOidcProviderOf('code-exchange', 1.2, { sign: 'RS256' }),
  timesOneCore('code-exchange'),
  {
    work: 'growth',
    of: 'of the throughput with 1,000 times as many records, none cached',
    atLeast: 0.9,
    value: (results) => growth(results, ({ perSecond }) => perSecond.median),
  },
  {
    work: 'growth',
    of: 'times the 99th percentile with 1,000 times as many records, none cached',
    atMost: 2,
    value: (results) => growth(results, ({ p99Ms }) => p99Ms.median),
  },
  {
    work: 'growth',
    of: 'of the throughput with 1,000 times as many records, fewer of them cached',
    value: (results) => growth(results, ({ perSecond }) => perSecond.median, ACCESS_TOKENS),
  },
  ofOpenLoop('ms at the 99th percentile', 5, ['rest'], ({ rest }) => rest.latencyMs.p99),
  ofOpenLoop('ms at the 99.9th percentile', 15, ['rest'], ({ rest }) => rest.latencyMs.p999),
  ofOpenLoop('ms at the slowest', 50, ['rest'], ({ rest }) => rest.latencyMs.max),
  ofOpenLoop(
    'times the 99th percentile while expired rows are swept',
    1.2,
    ['rest', 'sweeping'],
    ({ rest, sweeping }) => sweeping.latencyMs.p99 / rest.latencyMs.p99,
  ),
  {
    work: 'memory',
    of: 'MiB resident after the first response',
    atMost: 80,
    value: ({ memory }) => memory && memory.atStart / MEBIBYTE,
  },
  {
    work: 'memory',
    of: 'MiB resident after every pass',
    atMost: 150,
    value: ({ memory }) => memory && Math.max(...memory.afterPasses) / MEBIBYTE,
  },
  {
    work: 'memory',
    of: 'times as much memory after the last pass through the tokens as after the middle one',
    atMost: 1.05,
    value: ({ memory }) =>
      ratio(memory?.afterPasses.at(-1), memory?.afterPasses[Math.floor(memory.afterPasses.length / 2)]),
  },
  {
    work: 'memory-of-many',
    of: 'MiB resident after 3 times as many tokens, of clients and users, most of them opaque',
    value: ({ memoryOfMany }) => memoryOfMany && Math.max(...memoryOfMany.afterPasses) / MEBIBYTE,
  },
  { work: 'start', of: 'ms to the first correct response', atMost: 200, value: ({ start }) => start?.median },
  {
    work: 'sign-in',
    of: 'ms of CPU time, without the password hash',
    atMost: 3.5,
    value: ({ signIn }) => signIn?.cpuMs.median,
  },
  timesOidcProvider('introspection-postgres', 3, 'oidc-provider, PostgreSQL'),
  timesOidcProvider('refresh-opaque-postgres', 3, 'oidc-provider, PostgreSQL'),
  timesOidcProvider('revocation-postgres', 3, 'oidc-provider, PostgreSQL'),
];

export function goalResults(results: RunResults): readonly GoalResult[] {
  return GOALS.map((goal) => {
    const value = goal.value(results);
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = goal;
    const isShown = goal.atLeast === undefined && goal.atMost === undefined;
    const isMet = isShown || value === undefined ? undefined : value >= atLeast && value <= atMost;
    return { ...goal, value, bound: goal.bound?.(results), isMet };
  });
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

/** The largest database relative to the smallest. */
function growth(
  results: RunResults,
  pick: (result: ContestantResult) => number,
  askedAbout = REFRESH_TOKENS,
): number | undefined {
  const values = Object.entries(results.works.growth?.contestants ?? {})
    .filter(([name]) => name.endsWith(askedAbout))
    .map(([, result]) => pick(result));
  return values.length < 2 ? undefined : ratio(values.at(-1), values[0]);
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}
