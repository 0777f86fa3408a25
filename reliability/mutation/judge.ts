// A process that loads every test once, on sources that carry all their mutants. `mutation.ts` sends it one mutant after
// the other.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mutantsOf } from './mutants.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const STAND_IN = pathToFileURL(join(ROOT, 'core/test/runtimes/inside/node_test.ts')).href;

/** What to load: the sources, with the number of the first mutant of each, and the tests. */
export interface Task {
  readonly sources: Readonly<Record<string, number>>;
  readonly suites: readonly string[];
  /** Active from the start, for code that runs while modules load. */
  readonly mutant?: number | undefined;
}

/** A mutant, and the tests that it meets, in this order. */
export interface Order {
  readonly mutant: number;
  readonly tests: readonly number[];
}

/** Tests to run without a mutant. Default: all. */
export interface Survey {
  readonly tests?: readonly number[];
}

export interface TestRun {
  readonly test: number;
  readonly title: string;
  readonly ms: number;
  readonly failure?: string | undefined;
  /** Numbers of the mutants whose place it reaches. */
  readonly reached: readonly number[];
}

export type Message =
  | { readonly kind: 'ready'; readonly atLoad: readonly number[]; readonly titles: readonly string[] }
  | { readonly kind: 'survey'; readonly runs: readonly TestRun[] }
  | {
      readonly kind: 'verdict';
      readonly mutant: number;
      readonly verdict: Verdict;
      readonly test?: number | undefined;
    }
  /** A test begins. Without this message for long, the process is in an endless loop. */
  | { readonly kind: 'test' };

/** `spoiled`: the test also fails without the mutant, so a fresh process must decide. */
export type Verdict = 'killed' | 'survived' | 'timeout' | 'spoiled';

/** A test that runs longer waits for ever. */
export const LONGEST_TEST_MS = 30_000;

let active: number | undefined;
let reached = new Set<number>();
Object.assign(globalThis, {
  isMutant(number: number): boolean {
    reached.add(number);
    return number === active;
  },
});

let unhandled: unknown;
for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error: unknown) => {
    unhandled = error ?? new Error(event);
  });

if (process.send !== undefined) {
  process.once('message', (task: Task) => void load(task));
  process.once('disconnect', () => process.exit());
}

function send(message: Message): void {
  process.send?.(message);
}

async function load({ sources, suites, mutant }: Task): Promise<void> {
  const changed = new Map(
    Object.entries(sources).map(([file, first]) => [pathToFileURL(join(ROOT, file)).href, first]),
  );
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:test' ? { url: STAND_IN, shortCircuit: true } : next(specifier, context),
    load(url, context, next) {
      const first = changed.get(url);
      if (first === undefined) return next(url, context);
      const { source } = mutantsOf(readFileSync(fileURLToPath(url), 'utf8'), first);
      return { format: 'module', source, shortCircuit: true };
    },
  });
  active = mutant;
  const { declareFile, declaredTitles, runTest } = await import(STAND_IN);
  for (const suite of suites)
    await declareFile(basename(suite, '.test.ts'), () => import(pathToFileURL(join(ROOT, suite)).href));
  send({ kind: 'ready', atLoad: [...reached], titles: declaredTitles() });

  const run = async (test: number): Promise<TestRun> => {
    send({ kind: 'test' });
    reached = new Set();
    unhandled = undefined;
    const startedAt = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, LONGEST_TEST_MS, 'late');
    });
    const outcome = await Promise.race([runTest(test), late]).catch((error: unknown) => ({ reason: error }));
    clearTimeout(timer);
    const failure =
      outcome === 'late'
        ? 'late'
        : outcome.outcome === 'failed' || outcome.outcome === undefined
          ? String(outcome.reason)
          : unhandled && String(unhandled);
    return {
      test,
      title: declaredTitles()[test],
      ms: performance.now() - startedAt,
      failure: failure as string | undefined,
      reached: [...reached],
    };
  };

  process.on('message', async (order: Survey | Order) => {
    if ('mutant' in order) return send(await judge(order, run));
    const runs: TestRun[] = [];
    for (const test of order.tests ?? declaredTitles().keys()) runs.push(await run(test));
    send({ kind: 'survey', runs });
  });
}

async function judge({ mutant, tests }: Order, run: (test: number) => Promise<TestRun>): Promise<Message> {
  const isFromTheStart = active === mutant;
  for (const test of tests) {
    active = mutant;
    const { failure } = await run(test);
    if (failure === undefined) continue;
    if (failure === 'late') return { kind: 'verdict', mutant, verdict: 'timeout', test };
    if (isFromTheStart) return { kind: 'verdict', mutant, verdict: 'killed', test };
    active = undefined;
    if ((await run(test)).failure !== undefined) return { kind: 'verdict', mutant, verdict: 'spoiled', test };
    active = mutant;
    // A test that fails only now and then has not noticed the mutant.
    if ((await run(test)).failure !== undefined) return { kind: 'verdict', mutant, verdict: 'killed', test };
  }
  active = undefined;
  return { kind: 'verdict', mutant, verdict: 'survived' };
}
