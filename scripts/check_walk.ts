// Walks requests through grantd, as a library on the memory store and through the program on SQLite. Prints how many of
// grantd's files, functions and lines ran for each. Warns if a walk exceeds its budget. Exits with 1 if it exceeds `most`.
//
// `--files` lists the files. `--budget "program introspection=24,750"` sets another budget of files and lines.
// `--place library` walks the library only. `walk/executed.ts` says how lines are counted.
import { parseArgs } from 'node:util';
import { walks } from './walk/walk.ts';

interface Size {
  readonly files: number;
  readonly lines: number;
}

interface Budget extends Size {
  /** Allowed while a walk is still far from its budget. Default: a tenth more than the budget. */
  readonly most?: Size;
}

const { values: flags } = parseArgs({
  options: {
    files: { type: 'boolean' },
    budget: { type: 'string', multiple: true, default: [] },
    place: { type: 'string' },
  },
});

const BUDGETS: Readonly<Record<string, Budget>> = {
  'library introspection': { files: 15, lines: 500 },
  'library UserInfo': { files: 17, lines: 364 },
  'library revocation': { files: 15, lines: 455 },
  'library introspection of a token that was not seen before': { files: 15, lines: 546 },
  'library refresh': { files: 21, lines: 819 },
  'library token request with DPoP': { files: 26, lines: 700 },
  'program introspection': { files: 22, lines: 682 },
  'program introspection of a token that was not seen before': { files: 24, lines: 819 },
  'program UserInfo': { files: 24, lines: 546 },
  'program revocation': { files: 24, lines: 819 },
  'program refresh': { files: 29, lines: 1_000 },
  'program token request with DPoP': { files: 30, lines: 850, most: { files: 34, lines: 1_045 } },
  'program password sign-in to the account page': {
    ...{ files: 30, lines: 750 },
    most: { files: 37, lines: 1_040 },
  },
  'program password sign-in to an application': {
    ...{ files: 45, lines: 1_100 },
    most: { files: 55, lines: 1_470 },
  },
  ...Object.fromEntries(flags.budget.map(budgetIn)),
};

const unused = new Set(Object.keys(BUDGETS).filter((name) => name.startsWith(flags.place ?? '')));
let isExceeded = false;
for (const { place, request, files } of await walks(flags.place)) {
  const name = `${place} ${request}`;
  const ran = Object.values(files);
  const found: Size = { files: ran.length, lines: sum(ran.map(({ lines }) => lines.length)) };
  const functions = sum(ran.map((file) => file.functions.length));
  console.log(`${name}: ${found.files} files, ${functions} functions, ${found.lines} lines`);
  if (flags.files) for (const file of Object.keys(files)) console.log(`  ${file}`);
  const budget = BUDGETS[name];
  if (budget === undefined) throw new Error(`${name} has no budget`);
  unused.delete(name);
  for (const part of ['files', 'lines'] as const) {
    const most = Math.floor(budget.most?.[part] ?? budget[part] * 1.1);
    if (found[part] > most) isExceeded = true;
    if (found[part] > most) console.error(`${name}: ${found[part]} ${part}, at most ${most} are allowed`);
    else if (found[part] > budget[part])
      console.log(`  warning: ${found[part]} ${part}, the budget is ${budget[part]}`);
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
  return numbers.reduce((total, number) => total + number, 0);
}
