import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BadUsage } from '../options.ts';
import { apiChecksTable } from './api_checks.ts';
import { plotOf } from './plot_of_results.ts';
import type { RunResults } from './results.ts';
import { shownTable } from './shown.ts';

const RESULTS = join(import.meta.dirname, '../results');
const INCOMPLETE = '-incomplete';

/** The run in `results/NAME.json`; `undefined` if there is none. */
export function storedRun(name: string): RunResults | undefined {
  const file = join(RESULTS, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** @throws {BadUsage} if no run with this name has failed benchmarks */
export function incompleteRun(name: string): RunResults {
  const found = storedRun(`${name}${INCOMPLETE}`);
  if (found === undefined)
    throw new BadUsage(`--complete: bench/results/${name}${INCOMPLETE}.json does not exist`);
  return found;
}

/**
 * Stores the run, its chart and the tables of README as `NAME`, or as `NAME-incomplete` if a benchmark failed.
 * @returns the path, without the extension
 */
export function store(name: string, results: RunResults): string {
  mkdirSync(RESULTS, { recursive: true });
  const [whole, incomplete] = [join(RESULTS, name), join(RESULTS, `${name}${INCOMPLETE}`)];
  const isWhole = Object.keys(results.failed).length === 0;
  const file = isWhole ? whole : incomplete;
  writeFileSync(`${file}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(`${file}.svg`, plotOf(results));
  const shown = [shownTable(results), apiChecksTable(results.apiChecks)].filter((part) => part !== undefined);
  writeFileSync(`${file}.md`, `${shown.join('\n\n')}\n`);
  if (isWhole)
    for (const extension of ['json', 'svg', 'md']) rmSync(`${incomplete}.${extension}`, { force: true });
  return file;
}

/** @throws {BadUsage} if the machine, Node or the load generator is not that of the run */
export function requireSame(run: RunResults, now: Pick<RunResults, 'machine' | 'generator'>): void {
  for (const what of ['machine', 'generator'] as const)
    if (!isDeepStrictEqual(run[what], now[what]))
      throw new BadUsage(`--complete: the run was made with another ${what}: ${JSON.stringify(run[what])}`);
}

/** The stored run with the benchmarks that were measured later. */
export function completed(before: RunResults, added: RunResults): RunResults {
  const { startedAt, revision } = added;
  return {
    ...before,
    ...added,
    ...{ startedAt: before.startedAt, revision: before.revision },
    works: { ...before.works, ...added.works },
    othersCpu: { ...before.othersCpu, ...added.othersCpu },
    completions: [
      ...(before.completions ?? []),
      { startedAt, revision, names: Object.keys(before.failed).filter((name) => !(name in added.failed)) },
    ],
  };
}
