// `npm run bench:runs -- NAME…`: prints the goals of stored runs side by side, as a Markdown table.
import { boundOf, formatValue } from './report/formats.ts';
import { goalResults } from './report/goals.ts';
import type { RunResults } from './report/results.ts';
import { storedRun } from './report/stored_runs.ts';
import { table } from './report/tables.ts';
import { verdict } from './report/verdict.ts';

const HELP = `npm run bench:runs -- NAME…

Prints the goals of the runs in bench/results/NAME.json side by side, with each result: ✔ met, ✘ missed, (–) not judged,
because something else may have been measured. The tables of npm run bench say why.`;

const MARKS: Readonly<Record<string, string>> = { met: ' ✔', 'not met': ' ✘', '': '' };

function sideBySide(runs: readonly RunResults[], names: readonly string[]): string {
  const goals = runs.map((run) => goalResults(run).map((goal) => ({ ...goal, verdict: verdict(run, goal) })));
  const rows = (goals[0] ?? []).map((goal, index) => [
    goal.work,
    boundOf(goal),
    ...goals.map((ofRun) => {
      const { value, verdict: said = '' } = ofRun[index] ?? {};
      return value === undefined ? '' : `${formatValue(value)}${MARKS[said] ?? ' (–)'}`;
    }),
  ]);
  return table(['work', 'goal', ...names], rows);
}

const names = process.argv.slice(2);
const missing = names.filter((name) => name.startsWith('-') || storedRun(name) === undefined);
if (names.length === 0 || names.includes('--help')) console.log(HELP);
else if (missing.length > 0) {
  console.error(`bench/results/${missing[0]}.json does not exist; see --help`);
  process.exitCode = 2;
} else {
  const runs = names.map((name) => storedRun(name)).filter((run) => run !== undefined);
  console.log(sideBySide(runs, names));
}
