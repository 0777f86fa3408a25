import { spread } from '../statistics.ts';
import { percent } from './formats.ts';
import type { ContestantResult, RunResults } from './results.ts';
import { hasBusyGenerator, OTHERS_INTERFERE } from './verdict.ts';

/** A kind of request that README shows. */
interface Shown {
  readonly work: string;
  readonly request: string;
  readonly storage: 'SQLite' | 'PostgreSQL';
}

/** In the order of README. `npm run bench -- --quick` measures these works. */
export const SHOWN: readonly Shown[] = [
  { work: 'introspection-jwt', request: 'introspect a JWT', storage: 'SQLite' },
  { work: 'introspection-opaque', request: 'introspect an opaque token', storage: 'SQLite' },
  { work: 'client-credentials', request: 'issue a token to a client', storage: 'SQLite' },
  { work: 'refresh-token-opaque', request: 'refresh', storage: 'SQLite' },
  { work: 'revocation-64', request: 'revoke', storage: 'SQLite' },
  { work: 'introspection-postgres', request: 'introspect a JWT', storage: 'PostgreSQL' },
  { work: 'refresh-opaque-postgres', request: 'refresh', storage: 'PostgreSQL' },
  { work: 'revocation-postgres', request: 'revoke', storage: 'PostgreSQL' },
];

const LIBRARIES = ['oidc-provider', '@jmondi/oauth2-server', 'better-auth'] as const;

interface Comparison {
  /** How many times as many requests grantd answers, in each round. */
  readonly ratios: readonly number[];
  readonly shown: Shown;
  readonly peer: string;
}

/**
 * The table of README in Markdown, and what it says about itself.
 * @returns `undefined` if none of its works was measured with a peer
 */
export function shownTable(results: RunResults): string | undefined {
  const comparisons: Comparison[] = [];
  const rows = SHOWN.flatMap((shown) => {
    const contestants = results.works[shown.work]?.contestants ?? {};
    const { grantd } = contestants;
    if (grantd === undefined) return [];
    const cells = LIBRARIES.map((library) => {
      const peer = contestants[`${library}, ${shown.storage}`];
      if (peer === undefined) return '–';
      const ratios = ratiosOf(grantd, peer);
      comparisons.push({ ratios, shown, peer: library });
      const { median, min, max } = spread(ratios);
      return `${digits(median)} (${digits(min)} to ${digits(max)}), ${microseconds(peer)}`;
    });
    const own = `${Math.round(grantd.perSecond.median).toLocaleString('en')} a second, ${microseconds(grantd)}`;
    return [[shown.request, shown.storage, own, ...cells]];
  });
  if (comparisons.length === 0) return undefined;
  const head = ['request', 'storage', 'grantd', ...LIBRARIES.map((library) => `times ${library}`)];
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [lines.join('\n'), sentences(results, comparisons).join(' ')].join('\n\n');
}

/** What a reader has to know before quoting a figure. */
function sentences(results: RunResults, comparisons: readonly Comparison[]): readonly string[] {
  const { machine, rounds, seconds, startedAt, revision = 'unknown' } = results;
  const shares = comparisons.map(({ ratios, shown, peer }) => {
    const { median, min, max } = spread(ratios);
    return { shown, peer, share: Math.max(max / median, median / min) - 1 };
  });
  const widest = shares.reduce((most, each) => (each.share > most.share ? each : most));
  const { request, storage } = widest.shown;
  const measured = SHOWN.flatMap(({ work, request, storage }) =>
    Object.entries(results.works[work]?.contestants ?? {}).map(([name, result]) => ({
      place: `${request}, ${storage}, ${name}`,
      result,
    })),
  );
  const others = Math.max(...measured.map(({ result }) => result.othersCpu?.median ?? 0));
  const busy = measured.filter(({ result }) => hasBusyGenerator(result)).map(({ place }) => place);
  return [
    `Commit ${revision}, ${startedAt.slice(0, 10)}, ${machine.processor}, Node ${machine.node}; ${rounds === 1 ? '1 round' : `${rounds} rounds`} of ${seconds} s.`,
    `A ratio in one round differed from its median by up to ${percent(widest.share)} (${request}, ${storage}, ${widest.peer}), ` +
      `and other programs used up to ${percent(others)} of a core.`,
    ...(others >= OTHERS_INTERFERE
      ? ['Do not quote these figures: the other programs kept the machine busy.']
      : []),
    ...(busy.length > 0 ? [`The load generator was too slow for: ${busy.join('; ')}.`] : []),
  ];
}

/** Each round of one with the same round of the other. */
function ratiosOf(grantd: ContestantResult, peer: ContestantResult): readonly number[] {
  return grantd.perSecondOfRounds.flatMap((perSecond, round) => {
    const other = peer.perSecondOfRounds[round];
    return other === undefined ? [] : [perSecond / other];
  });
}

function digits(ratio: number): string {
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(ratio >= 2 ? 1 : 2);
}

function microseconds({ cpuUs }: ContestantResult): string {
  return cpuUs === undefined ? 'CPU not known' : `${Math.round(cpuUs.median).toLocaleString('en')} µs`;
}
