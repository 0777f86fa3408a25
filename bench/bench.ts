import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wrk } from './load/wrk.ts';
import { spread } from './report/statistics.ts';
import { measureRounds } from './rounds.ts';
import { Stage } from './works/stage.ts';
import { WORKS } from './works/works.ts';

const { values } = parseArgs({
  options: {
    work: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    records: { type: 'string' },
    tokens: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const { quick } = values;
const chosen = values.work?.split(',');
const works = WORKS.filter(({ name }) => chosen === undefined || chosen.includes(name));
const generator = wrk();
if (generator === undefined) throw new Error('wrk is missing');
const say = (text: string) => console.error(text);
let toldAtMs = Number.NEGATIVE_INFINITY;
const progress = (text: string) => {
  if (performance.now() - toldAtMs < 5000) return;
  toldAtMs = performance.now();
  say(text);
};

const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

const tokens = Number(values.tokens ?? (quick ? 10_000 : 100_000));
const stage = new Stage({
  folder,
  sizes: {
    records: Number(values.records ?? (quick ? 100_000 : 1_000_000)),
    tokens,
    personal: Math.min(tokens, 20_000),
  },
  say: progress,
});
for (const work of works) {
  const contestants = await work.contestants(stage);
  const measurements = await measureRounds(work, contestants, {
    rounds: Number(values.rounds ?? (quick ? 2 : 3)),
    seconds: Number(values.seconds ?? (quick ? 3 : 5)),
    warmUpSeconds: quick ? 1 : 2,
    generator,
    say,
  });
  const rates = new Map(
    contestants.map(({ name }) => [
      name,
      spread(measurements.filter(({ contestant }) => contestant === name).map(({ perSecond }) => perSecond)),
    ]),
  );
  const bare = rates.get('bare')?.median ?? Number.NaN;
  for (const [name, { median, min, max }] of rates)
    console.log(
      `${work.title} | ${name} | ${Math.round(median)}/s (${Math.round(min)} to ${Math.round(max)}) | ${(median / bare).toFixed(3)} of bare`,
    );
}
