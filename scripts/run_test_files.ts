// Runs test files in a few processes, and prints failures, skipped tests and a line per file. Writes the result of every
// title for the ledger check.
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { FileResult } from './test_worker.ts';

export interface RunOptions {
  /** Receives the processes while they run. */
  readonly running?: Set<ChildProcess>;
  /** Once it returns true, no other file begins. */
  readonly isInterrupted?: () => boolean;
  /** Default: three more than there are cores, because files wait for more than half of their time. */
  readonly processes?: number;
  /** Milliseconds. A file that takes longer fails. */
  readonly longestFileMs: number;
}

/**
 * A process is replaced after this many files, so that what they leave behind in memory stays small. A new one loads the
 * library and the frameworks again, which takes about a second.
 */
const FILES_PER_PROCESS = 60;
/** How many files are listed, so that the next reader sees where the time goes. */
const LISTED_SLOW_FILES = 15;

/** @returns whether all files have run and all their tests passed */
export async function runTestFiles(
  files: readonly string[],
  {
    running = new Set(),
    isInterrupted = () => false,
    processes = availableParallelism() + 3,
    longestFileMs,
  }: RunOptions,
): Promise<boolean> {
  const startedAt = performance.now();
  const { early = [], later = [] } = Object.groupBy(files, (file) => (beginsEarly(file) ? 'early' : 'later'));
  const waiting = [...early, ...later];
  const alone = new Set(files.filter(runsAlone));
  const results: FileResult[] = [];
  const inOneProcess = async () => {
    while (waiting.length > 0 && !isInterrupted()) await runSome();
  };

  /** Runs files in one process. Resolves when it exits. */
  function runSome(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'test_worker.ts'), { serialization: 'advanced' });
    running.add(child);
    const mine: string[] = [];
    let current: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    const next = () => {
      clearTimeout(timer);
      timer = setTimeout(() => child.kill('SIGKILL'), longestFileMs);
      current = takeFileAfter(mine);
      if (current === undefined) return child.disconnect();
      mine.push(current);
      child.send(current);
    };
    const keep = (result: FileResult) => {
      results.push(result);
      process.stdout.write(`${result.text}${lineOf(result)}\n`);
    };
    child.on('message', (result: FileResult) => {
      keep(result);
      next();
    });
    next();
    return new Promise((resolve) => {
      child.once('exit', (status, signal) => {
        clearTimeout(timer);
        running.delete(child);
        // A process may also die after its last file.
        if (current !== undefined || status !== 0)
          keep(failedResult(current ?? mine.join(', '), `Its process has ended with ${signal ?? status}.`));
        resolve();
      });
    });
  }

  /** The next file for a process that has run these. */
  function takeFileAfter(mine: readonly string[]): string | undefined {
    if (mine.length === FILES_PER_PROCESS || mine.some((file) => alone.has(file))) return undefined;
    const at = waiting.findIndex((file) => mine.length === 0 || !alone.has(file));
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  }

  await Promise.all(Array.from({ length: Math.min(processes, files.length) }, inOneProcess));
  const sum = (name: 'passed' | 'failed' | 'skipped') =>
    results.reduce((total, result) => total + result[name], 0);
  writeFileSync('.test-results/titles.json', JSON.stringify(titlesOf(results)));
  if (results.length > LISTED_SLOW_FILES) console.log(`The slowest files:\n${slowest(results)}`);
  const failures = results.filter(({ failed }) => failed > 0);
  if (failures.length > 0 && results.length > LISTED_SLOW_FILES)
    console.log(`What has failed, once more:${failures.map(({ text }) => text).join('')}`);
  console.log(`${seconds(performance.now() - startedAt)} s`);
  console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`);
  return sum('failed') === 0 && results.length === files.length;
}

/** A file that changes its process, for example how modules are loaded, says so in its first lines. */
export function runsAlone(file: string): boolean {
  return /^\/\/ Runs alone:/m.test(readFileSync(file, 'utf8'));
}

/** A long file says so in its first lines, so that it is not the last one, which runs while the other cores rest. */
function beginsEarly(file: string): boolean {
  return /^\/\/ Begins early:/m.test(readFileSync(file, 'utf8'));
}

function failedResult(file: string, why: string): FileResult {
  const text = `\n✖ ${file}\n    ${why}\n`;
  return { file, passed: 0, failed: 1, skipped: 0, ms: 0, processorMs: 0, text, titles: {} };
}

/** A title that several files share has failed if it failed in one of them. */
function titlesOf(results: readonly FileResult[]): Record<string, 'passed' | 'failed'> {
  const titles: Record<string, 'passed' | 'failed'> = {};
  for (const result of results)
    for (const [title, outcome] of Object.entries(result.titles))
      if (titles[title] !== 'failed') titles[title] = outcome;
  return titles;
}

function lineOf({ file, passed, failed, skipped, ms, processorMs }: FileResult): string {
  const mark = failed === 0 ? '✔' : '✖';
  return `  ${mark} ${file}: ${passed} passed${note(failed, 'failed')}${note(skipped, 'skipped')} (${seconds(ms)} s, ${seconds(processorMs)} s CPU)`;
}

function slowest(results: readonly FileResult[]): string {
  return results
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, LISTED_SLOW_FILES)
    .map(({ file, ms }) => `${seconds(ms).padStart(7)} s  ${file}`)
    .join('\n');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function note(count: number, word: string): string {
  return count === 0 ? '' : `, ${count} ${word}`;
}
