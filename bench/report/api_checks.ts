import { nameOf, type Way } from '../follow/handlers.ts';
import type { ApiChecks } from '../works/api_checks.ts';
import type { PlotRow } from './plot.ts';

/** Ways in which an API checks the token of a request. */
const WAYS: readonly { readonly way: Way; readonly does: string; readonly sees: string }[] = [
  { way: 'introspected', does: 'introspects the token over HTTP', sees: 'at once' },
  { way: 'remembered', does: 'remembers introspections for 60 s', sees: 'after up to 60 s' },
  { way: 'follower', does: 'follows what ends', sees: 'within a moment' },
  { way: 'jose', does: 'only verifies the JWT', sees: 'never: the token has to expire' },
  { way: 'none', does: 'checks no token', sees: '' },
];

const ISSUERS = ['grantd', 'oidc-provider'] as const;

/** What an API pays for each request, in Markdown. */
export function apiChecksTable(checks: ApiChecks | undefined): string | undefined {
  if (checks === undefined) return undefined;
  const rows = WAYS.map(({ way, does, sees }) => [
    `it ${does}`,
    sees,
    ...ISSUERS.flatMap((name) => {
      const figures = checks[nameOf({ name }, way)];
      if (figures === undefined) return ['–', '–'];
      return [
        Math.round(figures.perSecond.median).toLocaleString('en'),
        `${figures.cpuUs.median.toFixed(0)} µs (${figures.cpuUs.min.toFixed(0)} to ${figures.cpuUs.max.toFixed(0)})`,
      ];
    }),
  ]);
  const head = ['what an API pays for each request, if', 'it sees a revocation'];
  const columns = [...head, ...ISSUERS.flatMap((name) => [`tokens of ${name}: a second`, 'CPU time'])];
  const lines = [columns, columns.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** For the chart: relative to the same API without a check. */
export function apiChecksRows(checks: ApiChecks | undefined): readonly PlotRow[] {
  if (checks === undefined) return [];
  return WAYS.filter(({ way }) => way !== 'none').flatMap(({ way, does }) => {
    const figures = checks[nameOf({ name: 'grantd' }, way)];
    if (figures === undefined) return [];
    const { median: ratio, min, max } = figures.ofUnchecked;
    return [{ label: `an API that ${does}`, bars: [{ subject: 'grantd', ratio, min, max }] }];
  });
}
