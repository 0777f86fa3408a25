import { apiChecksRows } from './api_checks.ts';
import { goalResults } from './goals.ts';
import { type PlotRow, plot } from './plot.ts';
import type { RunResults } from './results.ts';

/** Works whose `bare` is another server, which does more. */
const OTHER_BARE = new Set([
  'introspection-postgres',
  'refresh-opaque-postgres',
  'refresh-postgres',
  'revocation-postgres',
]);

/** As durable as grantd here. */
const IS_DURABLE = /, SQLite$/;

/** The picture of one run. */
export function plotOf(results: RunResults): string {
  const { machine, startedAt, rounds } = results;
  return plot({
    title: 'Throughput on one core, as a part of what a bare node:http server does',
    rows: [...plotRows(results), ...apiChecksRows(results.apiChecks)],
    caption: `npm run bench, ${startedAt.slice(0, 10)}, Node ${machine.node}; medians of ${rounds} rounds, lowest to highest${ofApis(results)}`,
  });
}

function ofApis({ apiChecks }: RunResults): string {
  return apiChecks === undefined ? '' : '; bare of an API: the same without a check';
}

/** The comparable works: those that grantd and the bare server did in the same rounds, with peers that are as durable. */
function plotRows(results: RunResults): readonly PlotRow[] {
  return Object.entries(results.works).flatMap(([work, { title, contestants }]) => {
    const grantd = contestants.grantd?.ofBare;
    if (grantd === undefined || OTHER_BARE.has(work)) return [];
    const goal = goalOf(results, work, grantd.median);
    const bars = Object.entries(contestants)
      // Only grantd as installed.
      .filter(([name]) => name === 'grantd' || IS_DURABLE.test(name))
      .flatMap(([subject, { ofBare }]) =>
        ofBare === undefined ? [] : [{ subject, ratio: ofBare.median, min: ofBare.min, max: ofBare.max }],
      );
    return [{ label: title, bars, ...(goal !== undefined && { goal }) }];
  });
}

/** The first goal of a work that is a ratio, to the bare server or to something else. */
function goalOf(results: RunResults, work: string, ofBare: number): number | undefined {
  const goal = goalResults(results).find((each) => each.work === work);
  if (goal?.atLeast === undefined || goal.value === undefined) return undefined;
  return (goal.atLeast * ofBare) / goal.value;
}
