// What sweeping costs the requests of a running server. One server answers introspection at a steady rate while, in
// turns, nothing and some of a million expired rows are to be swept: by the server itself, or by `grantd gc`.
//
//   npm run measure:sweeping -- --by serve --rows 1000000 --rounds 4 --rate 1000
import { parseArgs } from 'node:util';
import { wholeNumber } from './arguments.ts';
import { runScript, showProgress } from './script.ts';
import { measureSweeping, type Phase } from './volume/measure_sweeping.ts';

const { values } = parseArgs({
  options: {
    by: { type: 'string', default: 'serve' },
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '4' },
    rate: { type: 'string', default: '1000' },
    'rest-seconds': { type: 'string', default: '20' },
    'slowest-rows': { type: 'string', default: '4000' },
  },
});

await runScript(async (workbench) => {
  const { by } = values;
  if (by !== 'serve' && by !== 'gc') throw new Error('--by: expected serve or gc');
  const report = await measureSweeping(workbench, {
    by,
    rows: wholeNumber('rows', values.rows),
    rounds: wholeNumber('rounds', values.rounds),
    rate: wholeNumber('rate', values.rate),
    restSeconds: wholeNumber('rest-seconds', values['rest-seconds']),
    slowestRows: wholeNumber('slowest-rows', values['slowest-rows']),
    onProgress: showProgress,
  });
  showProgress('');
  console.log(
    `introspection at ${values.rate} a second, swept by ${by}; milliseconds from arrival to answer`,
  );
  for (const { rest, sweep, rowsPerSecond } of report.rounds) {
    console.log(`  rest   ${line(rest)}`);
    console.log(`  sweep  ${line(sweep)}   ${Math.round(rowsPerSecond)} rows/s`);
  }
  const { rest, sweep, rowsPerSecond } = report.all;
  console.log('all rounds');
  console.log(`  rest   ${line(rest)}`);
  console.log(`  sweep  ${line(sweep)}   ${Math.round(rowsPerSecond)} rows/s`);
  const ratio = (name: 'p50' | 'p99' | 'p999' | 'max') =>
    `${(sweep[name] / rest[name]).toFixed(2)}`.padStart(8);
  console.log(`  ratio  ${ratio('p50')} ${ratio('p99')} ${ratio('p999')} ${ratio('max')}`);
  return true;
});

function line({ requests, p50, p99, p999, max }: Phase): string {
  const figures = [p50, p99, p999, max].map((ms) => ms.toFixed(2).padStart(8)).join(' ');
  return `${figures}   (p50, p99, p99.9, max of ${requests})`;
}
