// Walks one introspection, one UserInfo, one revocation and one refresh through grantd, as a library on the memory
// store and through the program on SQLite. Prints how many of grantd's files, functions and lines ran for each. Exits
// with 1 if a walk exceeds its budget.
//
// `--files` lists the files. `--budget "program introspection=24,750"` sets another budget of files and lines.
// `walk/executed.ts` says how lines are counted.
import { parseArgs } from 'node:util';
import { walks } from './walk/walk.ts';

interface Budget {
  readonly files: number;
  readonly lines: number;
}

const { values: flags } = parseArgs({
  options: { files: { type: 'boolean' }, budget: { type: 'string', multiple: true, default: [] } },
});

/** Files and lines at most. */
const BUDGETS: Readonly<Record<string, Budget>> = {
  'library introspection': { files: 16, lines: 550 },
  'library UserInfo': { files: 18, lines: 400 },
  'library revocation': { files: 16, lines: 500 },
  'library introspection of a token that was not seen before': { files: 16, lines: 600 },
  'library refresh': { files: 23, lines: 900 },
  'program introspection': { files: 24, lines: 750 },
  'program introspection of a token that was not seen before': { files: 26, lines: 900 },
  'program UserInfo': { files: 26, lines: 600 },
  'program revocation': { files: 26, lines: 900 },
  'program refresh': { files: 32, lines: 1_100 },
  ...Object.fromEntries(flags.budget.map(budgetIn)),
};

const unused = new Set(Object.keys(BUDGETS));
let isExceeded = false;
for (const { place, request, files } of await walks()) {
  const name = `${place} ${request}`;
  const ran = Object.values(files);
  const found: Budget = { files: ran.length, lines: sum(ran.map(({ lines }) => lines.length)) };
  const functions = sum(ran.map((file) => file.functions.length));
  console.log(`${name}: ${found.files} files, ${functions} functions, ${found.lines} lines`);
  if (flags.files) for (const file of Object.keys(files)) console.log(`  ${file}`);
  const budget = BUDGETS[name] ?? { files: 0, lines: 0 };
  unused.delete(name);
  for (const part of ['files', 'lines'] as const) {
    if (found[part] <= budget[part]) continue;
    console.error(`${name}: ${found[part]} ${part}, at most ${budget[part]} are allowed`);
    isExceeded = true;
  }
}
for (const name of unused) console.error(`there is no walk ${name}`);
process.exit(isExceeded || unused.size > 0 ? 1 : 0);

function budgetIn(text: string): readonly [name: string, budget: Budget] {
  const [, name, files, lines] = /^(.+)=(\d+),(\d+)$/.exec(text) ?? [];
  if (name === undefined) throw new Error(`--budget ${text}: expected NAME=FILES,LINES`);
  return [name, { files: Number(files), lines: Number(lines) }];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
