// Runs the test files that its parent names, one after the other. Files that run in the same process load each module
// once, which saves about half of the processor time of a whole run.
import asyncHooks from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { runsAlone } from './run_test_files.ts';
import './shared_primes.ts';

// Node's runner follows every promise, to find the test that an unhandled error belongs to. This costs a fifth of the
// processor time. Without it, such an error fails its file instead of its test.
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
syncBuiltinESMExports();
const { run } = await import('node:test');

/** The outcome of one test file. */
export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly ms: number;
  /** Processor time of the file, with the processes that it started. */
  readonly processorMs: number;
  /** Failed and skipped tests, for a reader. */
  readonly text: string;
  readonly titles: Readonly<Record<string, 'passed' | 'failed'>>;
}

/** Linux reports times of processes in hundredths of a second on every platform. */
const MS_PER_TICK = 10;
const INTERRUPTED = 'This file has ended before its tests.';
/** What a library may replace for a whole process, and so for the test files after it. */
const SHARED_GLOBALS = [
  'Request',
  'Response',
  'Headers',
  'fetch',
  'Date',
  'setTimeout',
  'setInterval',
] as const;

// Each file begins in a message's own context. The runner would take a test that begins in the context of an earlier
// one for its subtest.
process.on('message', async (file: string) => {
  // The runner ends a file once nothing keeps the process alive, so that a file which leaves something open never ends.
  process.channel?.unref();
  const result = await results(file);
  process.channel?.ref();
  process.send?.(result);
});

async function results(file: string): Promise<FileResult> {
  const environment = { ...process.env };
  const folder = process.cwd();
  const globals = SHARED_GLOBALS.map((name) => globalThis[name]);
  const startedAt = performance.now();
  const processorMsBefore = processorTimeMs();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const titles: Record<string, 'passed' | 'failed'> = {};
  const remarks: string[] = [];
  let text = '';
  const failed = (title: string, reason: string) => {
    counts.failed += 1;
    titles[title] = 'failed';
    text += `\n✖ ${title}\n  ${file}\n${reason.replaceAll(/^/gm, '    ')}\n`;
  };

  const events = run({ files: [file], isolation: 'none' });
  let isSuccess: boolean | undefined;
  for await (const event of events) {
    if (event.type === 'test:summary') isSuccess = event.data.success;
    if (event.type === 'test:diagnostic' && event.data.level === 'error') text += `${event.data.message}\n`;
    else if (event.type === 'test:diagnostic') remarks.push(event.data.message);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, skip, details } = event.data;
    if (skip !== undefined && skip !== false) {
      counts.skipped += 1;
      text += `  – skipped: ${name}${typeof skip === 'string' ? ` (${skip})` : ''}\n`;
      continue;
    }
    // A suite has failed by itself only if one of its hooks has.
    if (details.type === 'suite' && (event.type === 'test:pass' || isOfSubtests(event.data.details.error)))
      continue;
    if (event.type === 'test:pass') {
      counts.passed += 1;
      titles[name] ??= 'passed';
    } else {
      failed(name, reasonOf(event.data.details.error));
    }
  }
  const ms = performance.now() - startedAt;
  const processorMs = processorTimeMs() - processorMsBefore;

  // An error after the end of its test is only a remark of the runner.
  if (isSuccess !== true && counts.failed === 0) failed(file, [INTERRUPTED, ...remarks].join('\n'));
  const replaced = SHARED_GLOBALS.filter((name, at) => globalThis[name] !== globals[at]);
  if (replaced.length > 0 && !runsAlone(file))
    failed(
      file,
      `It has replaced ${replaced.join(', ')} for the files after it. Write "// Runs alone:" at its top.`,
    );
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  return { file, ...counts, ms, processorMs, text, titles };
}

/** Includes other processes if the platform tells: Node reports only its own time. */
function processorTimeMs(): number {
  if (process.platform === 'linux') return processorTimeOfFamilyMs(process.pid);
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The time of a Linux process, of those that it started, and of those that these started. */
function processorTimeOfFamilyMs(pid: number): number {
  try {
    // The name, in parentheses, may contain spaces. Fields 14 to 17 of proc(5) are its own times and those of ended ones.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return children.reduce((sum, child) => sum + processorTimeOfFamilyMs(Number(child)), ticks * MS_PER_TICK);
  } catch {
    // It has ended in the meantime, and is counted as such.
    return 0;
  }
}

function isOfSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed';
}

function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return String(cause ?? error.stack);
  // Such as the error of the socket, which "fetch failed" does not tell.
  const { cause: deeper } = cause;
  return `${cause.stack ?? cause.message}${deeper instanceof Error ? `\n  because of ${deeper.stack}` : ''}`;
}
