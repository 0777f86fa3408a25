// Measures what sweeping costs the requests of a running server. A server answers introspections at a fixed rate. In
// turns, it has nothing to sweep, and a part of a million expired rows. The server itself sweeps, or `grantd gc`.
//
//     npm run measure:sweeping -- --by serve --rows 1000000 --rounds 4 --rate 1000
import { flagsOf, wholeNumber } from './arguments.ts';
import type { Latency } from './load/latency.ts';
import { runScript, showProgress } from './script.ts';
import { type Comparison, measureSweeping } from './volume/measure_sweeping.ts';

const FIGURES = ['p50', 'p99', 'p999', 'max'] as const;

const values = flagsOf(
  `npm run measure:sweeping -- [FLAGS]

  --by WHAT          serve or gc: what sweeps (serve)
  --rows N           that have expired (1000000)
  --rounds N         with and without them (4)
  --rate N           introspections in a second (1000)
  --rest-seconds N   without anything to sweep, before each sweep (20)
  --slowest-rows N   that a sweep takes in a second. The length of a round follows from it (4000)`,
  {
    by: { type: 'string', default: 'serve' },
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '4' },
    rate: { type: 'string', default: '1000' },
    'rest-seconds': { type: 'string', default: '20' },
    'slowest-rows': { type: 'string', default: '4000' },
  },
);

await runScript(async (workbench) => {
  const { by } = values;
  if (by !== 'serve' && by !== 'gc') throw new Error('--by: expected serve or gc');
  const rounds = wholeNumber('rounds', values.rounds);
  const report = await measureSweeping(workbench, {
    by,
    rounds,
    rows: Math.floor(wholeNumber('rows', values.rows) / rounds),
    rate: wholeNumber('rate', values.rate),
    restSeconds: wholeNumber('rest-seconds', values['rest-seconds'], 5),
    slowestRows: wholeNumber('slowest-rows', values['slowest-rows']),
    onRound: (round) => showProgress(`round ${round + 1} of ${rounds}`),
  });
  showProgress('');
  console.log(
    `introspection at ${values.rate} a second, swept by ${by}; milliseconds from arrival to answer`,
  );
  for (const round of report.rounds) print(round);
  console.log('all rounds');
  print(report.all);
  const { rest, sweep } = report.all;
  const ratios = FIGURES.map((figure) => (sweep[figure] / rest[figure]).toFixed(2).padStart(8));
  console.log(`  ratio  ${ratios.join(' ')}`);
  return true;
});

function print({ rest, sweep, rowsPerSecond }: Comparison): void {
  console.log(`  rest   ${line(rest)}`);
  console.log(`  sweep  ${line(sweep)}, ${Math.round(rowsPerSecond)} rows a second`);
}

function line(latency: Latency): string {
  const figures = FIGURES.map((figure) => latency[figure].toFixed(2).padStart(8));
  return `${figures.join(' ')}   p50, p99, p99.9, max of ${latency.requests} requests`;
}
