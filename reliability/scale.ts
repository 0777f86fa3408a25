// Fills databases with many tokens, and measures what depends on their number.
import { flagsOf, wholeNumber } from './arguments.ts';
import { runScript, showProgress } from './script.ts';
import { measureScale, type ScaleReport } from './volume/measure_scale.ts';
import type { Figure, Storage } from './volume/scale_stage.ts';

const values = flagsOf(
  `npm run measure:scale -- [FLAGS]

  --tokens N,…         tokens in each database that is measured (100000)
  --storage STORAGE    sqlite or postgres (sqlite)
  --requests N         requests of each kind, one after another (2000)
  --seconds N          time of each step under load (75)
  --gigabytes N        disk space to use at most: without enough, there is no backup (25)

10,000,000 tokens need 12 GB of disk, and 45 GB with a backup. The databases are in the temporary folder (TMPDIR), and are
removed at the end.`,
  {
    tokens: { type: 'string', default: '100000' },
    storage: { type: 'string', default: 'sqlite' },
    requests: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '75' },
    gigabytes: { type: 'string', default: '25' },
  },
);

/** When a line was last printed, by `performance.now()`. */
let shownAtMs = 0;

await runScript(async (workbench) => {
  const { storage } = values;
  if (storage !== 'sqlite' && storage !== 'postgres')
    throw new Error(`--storage: expected sqlite or postgres, not "${storage}"`);
  const counts = values.tokens.split(',').map((text) => wholeNumber('tokens', text, 10_000));
  const reports: ScaleReport[] = [];
  for (const tokens of counts) {
    const report = await measureScale(workbench, {
      ...{ storage: storage satisfies Storage, tokens },
      requests: wholeNumber('requests', values.requests),
      seconds: wholeNumber('seconds', values.seconds),
      gigabytes: wholeNumber('gigabytes', values.gigabytes),
      ...{ onStep, onFigure },
    });
    reports.push(report);
    if (tokens !== counts.at(-1)) print(storage, [tokens], [report]);
  }
  showProgress('');
  print(storage, counts, reports);
  return true;
});

/** On a terminal each step, and in a file a line every ten seconds. */
function onStep(text: string): void {
  showProgress(text);
  const nowMs = performance.now();
  if (process.stderr.isTTY || nowMs - shownAtMs < 10_000) return;
  shownAtMs = nowMs;
  console.error(text);
}

function onFigure({ name, unit, value }: Figure): void {
  if (!process.stderr.isTTY) console.error(`${name}: ${shown(value)} ${unit}`);
}

function print(storage: Storage, counts: readonly number[], reports: readonly ScaleReport[]): void {
  const [first, ...others] = reports;
  if (first === undefined) return;
  const columns = [
    ...counts.map((tokens) => `${tokens.toLocaleString('en')} tokens`),
    ...(others.length > 0 ? ['ratio'] : []),
  ];
  printRow([storage === 'sqlite' ? 'SQLite' : 'PostgreSQL', ...columns]);
  printRow(['---', ...columns.map(() => '---')]);
  for (const [at, { name, unit, value }] of first.figures.entries()) {
    const found = others.map(({ figures }) => figures[at]?.value ?? Number.NaN);
    const ratio = others.length > 0 ? [shown((found.at(-1) ?? Number.NaN) / value)] : [];
    printRow([unit === '' ? name : `${name}, ${unit}`, ...[value, ...found].map(shown), ...ratio]);
  }
  console.log('');
  printRow(['table', ...counts.map((tokens) => `bytes for each of ${tokens.toLocaleString('en')} tokens`)]);
  printRow(['---', ...counts.map(() => '---')]);
  for (const { name } of first.sizes) {
    const bytes = reports.map(
      ({ sizes }, at) =>
        (sizes.find((size) => size.name === name)?.bytes ?? Number.NaN) / (counts[at] ?? Number.NaN),
    );
    if (bytes.some((each) => each >= 1)) printRow([`\`${name}\``, ...bytes.map(shown)]);
  }
}

function printRow(cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

/** Three digits. */
function shown(value: Figure['value']): string {
  if (Number.isNaN(value)) return '–';
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}
