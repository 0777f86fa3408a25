import { parseArgs } from 'node:util';
import { rowsOf } from './population/order.ts';
import { COPIED } from './population/populate.ts';
import { SHOWN } from './report/shown.ts';
import { populationOrder, type Sizes } from './works/stage.ts';

/** The options of `npm run bench`. */
export interface BenchOptions {
  readonly works: readonly string[];
  readonly rounds: number;
  /** Seconds per measurement. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly sizes: Sizes;
  /** Only grantd and peers with the same storage. */
  readonly isComparison: boolean;
  readonly generator: 'wrk' | 'autocannon' | undefined;
  /** Name of `results/NAME.json`; `undefined` if the results are not stored. */
  readonly name: string | undefined;
}

/** Flags of every command that measures. */
export const MEASURING_FLAGS = `  --work NAME,…     the works to measure; --list prints all of them
  --rounds N        rounds, of which the median is reported (5)
  --seconds S       length of each measurement (3)
  --records N       live records in grantd's database (1000000)
  --tokens N        distinct tokens (100000)
  --generator NAME  wrk or autocannon. Default: wrk if it is installed
  --quick           3 rounds of 1 s, 100000 records, 10000 tokens; other flags take precedence
  --list            prints the works
  --help            prints this`;

export const HELP = `npm run bench [-- FLAGS]

--quick without --work measures the requests that README shows, on grantd and on peers with the same storage, and prints
the table of README.

${MEASURING_FLAGS}
  --name NAME       writes bench/results/NAME.json and NAME.svg. Default without other flags: latest
  --complete NAME   measures the works that failed in bench/results/NAME-incomplete.json, with the flags of that run,
                    and writes NAME.json. Takes no other flags.`;

/** An unknown flag or value. The message says what was expected. */
export class BadUsage extends Error {
  override readonly name = 'BadUsage';
}

const FULL = { rounds: 5, seconds: 3, warmUpSeconds: 8, records: 1_000_000, tokens: 100_000 };
const QUICK = { rounds: 3, seconds: 1, warmUpSeconds: 2, records: 100_000, tokens: 10_000 };

/** Signed tokens take minutes to make, and all tokens must fit among the records. */
const MOST_PERSONAL = 40_000;
const PERSONAL_PART = 0.5;

/** The name of a run to complete; `undefined` without `--complete`. */
export function nameToComplete(args: readonly string[]): string | undefined {
  const [flag, name, ...others] = args;
  if (flag !== '--complete') return undefined;
  if (name === undefined || others.length > 0)
    throw new BadUsage('--complete: expected a name and nothing else');
  return wellFormedName(flag, name);
}

/** @throws {BadUsage} */
export function benchOptions(
  args: readonly string[],
  known: readonly string[],
): BenchOptions | 'help' | 'list' {
  const values = flagsOf(args);
  if (values.help) return 'help';
  if (values.list) return 'list';
  const isComparison = values.quick === true && values.work === undefined;
  const works = values.work?.split(',') ?? (isComparison ? SHOWN.map(({ work }) => work) : known);
  for (const work of values.work === undefined ? [] : works)
    if (!known.includes(work)) throw new BadUsage(`--work: expected some of ${known.join(', ')}`);
  const { generator, name } = values;
  if (generator !== undefined && generator !== 'wrk' && generator !== 'autocannon')
    throw new BadUsage('--generator: expected wrk or autocannon');
  if (name !== undefined) wellFormedName('--name', name);

  const defaults = values.quick ? QUICK : FULL;
  const number = (flag: 'rounds' | 'seconds' | 'records' | 'tokens') =>
    wholeNumber(`--${flag}`, values[flag]) ?? defaults[flag];
  const tokens = number('tokens');
  const sizes = {
    records: number('records'),
    tokens,
    personal: Math.min(Math.ceil(tokens * PERSONAL_PART), MOST_PERSONAL),
  };
  const least = rowsOf(populationOrder(sizes)) + COPIED;
  if (sizes.records < least) throw new BadUsage(`--records: expected at least ${least} for ${tokens} tokens`);
  const isFull = Object.keys(values).length === 0;
  return {
    works,
    rounds: number('rounds'),
    seconds: number('seconds'),
    warmUpSeconds: defaults.warmUpSeconds,
    sizes,
    isComparison,
    generator,
    name: name ?? (isFull ? 'latest' : undefined),
  };
}

function wellFormedName(flag: string, name: string): string {
  if (/^[a-z0-9_.-]+$/.test(name)) return name;
  throw new BadUsage(`${flag}: expected lower-case letters, digits, _, . and -`);
}

function flagsOf(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...{ work: text, rounds: text, seconds: text, records: text, tokens: text, generator: text },
        ...{ name: text, quick: flag, list: flag, help: flag },
      },
    });
    return values;
  } catch (error) {
    if (error instanceof TypeError) throw new BadUsage(error.message);
    throw error;
  }
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BadUsage(`${flag}: expected a whole number from 1`);
}
