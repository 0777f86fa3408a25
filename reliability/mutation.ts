// Changes the source in one place at a time and runs the tests that reach the place. A mutant survives if no test fails.
// The tests run on the memory store, without an adapter, in processes that load them once. Exits with 1 if the score of
// a slice is below `--least`.
//
//     npm run test:mutation -- --slice introspection --sample 100 --seed 1 --least 85
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { flagsOf, wholeNumber } from './arguments.ts';
import { EXPLAINED } from './mutation/explained.ts';
import { LONGEST_TEST_MS, type Message, type Survey, type Task, type TestRun } from './mutation/judge.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';
import { showProgress } from './script.ts';

const ROOT = dirname(import.meta.dirname);
const SLICES = ['introspection', 'revocation', 'userinfo', 'token', 'tokens'];

/** Tests of packages, processes, adapters and documents: they need their own process, or test no more of the slices. */
const LEFT_OUT =
  /^(adapter|citations|commonjs_door|document_fetcher|entry_points|faults|fetch_hosts|previous_tokens|forwarded|h3|hono|hostile|layers|next_server|node_versions|oauth4webapi|other_runtime|package|reached_declarations|refresh_concurrency|text_table|unknown_options)/;

type Verdict = 'killed' | 'survived' | 'timeout' | 'no coverage';

interface Judged extends Mutant {
  readonly file: string;
  readonly verdict: Verdict;
  /** The title of the test that failed. */
  readonly test?: string | undefined;
  /** A change of the source discards the verdict. A change of the tests discards that of a survivor. */
  readonly sourceDigest: string;
  readonly testsDigest: string;
}

/** A mutant with its number in the sources that the processes load. */
interface Numbered extends Mutant {
  readonly file: string;
  readonly number: number;
}

const REPORTS = join(tmpdir(), 'grantd-mutation');
const values = flagsOf(
  `npm run test:mutation -- [FLAGS]

  --slice NAME      ${SLICES.join(', ')}; may be repeated (all)
  --sample N        mutants of each slice, drawn at random; 0 is all (0)
  --seed N          of the draw (1)
  --parallel N      test processes at a time (2)
  --least N         percent that must be killed (85)
  --reports FOLDER  SLICE.json and SLICE.md; a later run judges only what is missing or has changed (${REPORTS})`,
  {
    slice: { type: 'string', multiple: true, default: SLICES },
    sample: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '2' },
    least: { type: 'string', default: '85' },
    reports: { type: 'string', default: REPORTS },
  },
);
const unknown = values.slice.find((slice) => !SLICES.includes(slice));
if (unknown !== undefined)
  throw new Error(`--slice: expected some of ${SLICES.join(', ')}, not "${unknown}"`);

const least = wholeNumber('least', values.least, 0);
const sample = wholeNumber('sample', values.sample, 0);
const seed = wholeNumber('seed', values.seed);
const parallel = wholeNumber('parallel', values.parallel);
mkdirSync(values.reports, { recursive: true });

const suites = globSync('core/test/*.test.ts', { cwd: ROOT })
  .filter((file) => !LEFT_OUT.test(basename(file)))
  .sort();
const testsDigest = digestOf(globSync('core/test/{*.test.ts,harness/**/*.ts}', { cwd: ROOT }).sort());

const sources: Record<string, number> = {};
const numbered: Numbered[] = [];
for (const file of values.slice.flatMap((slice) => filesOf(slice))) {
  sources[file] = numbered.length;
  const { mutants } = mutantsOf(readFileSync(join(ROOT, file), 'utf8'), numbered.length);
  for (const mutant of mutants) numbered.push({ ...mutant, file, number: numbered.length });
}

/** A process with all tests, which judges one mutant at a time. */
class Judge {
  readonly atLoad: readonly number[];
  readonly #child: ChildProcess;
  #latest = Date.now();

  private constructor(child: ChildProcess, atLoad: readonly number[]) {
    this.#child = child;
    this.atLoad = atLoad;
    child.on('message', () => {
      this.#latest = Date.now();
    });
  }

  /** @returns `undefined` if the tests cannot be loaded, as with some mutants of code that runs while modules load */
  static async start(mutant?: number): Promise<Judge | undefined> {
    const child = fork(join(ROOT, 'reliability/mutation/judge.ts'), {
      cwd: ROOT,
      env: { ...process.env, TEST_ON_MEMORY_ALONE: 'yes' },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.send({ sources, suites, mutant } satisfies Task);
    const ready = await answerOf(child, 'ready', () => false);
    return ready && new Judge(child, ready.atLoad);
  }

  async survey(tests?: readonly number[]): Promise<readonly TestRun[]> {
    this.#latest = Date.now();
    this.#child.send({ ...(tests !== undefined && { tests }) } satisfies Survey);
    const answer = await answerOf(this.#child, 'survey', () => this.#hangs());
    if (answer === undefined) throw new Error('the tests hang or end their process without any mutant');
    return answer.runs;
  }

  async judge(mutant: number, tests: readonly number[]) {
    this.#latest = Date.now();
    this.#child.send({ mutant, tests });
    const answer = await answerOf(this.#child, 'verdict', () => this.#hangs());
    return answer ?? { verdict: 'timeout' as const, test: undefined };
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }

  #hangs(): boolean {
    return Date.now() - this.#latest > LONGEST_TEST_MS * 1.5;
  }
}

/** @returns `undefined` if the process ended or hangs */
function answerOf<Kind extends Message['kind']>(child: ChildProcess, kind: Kind, hangs: () => boolean) {
  return new Promise<Extract<Message, { kind: Kind }> | undefined>((resolve) => {
    const timer = setInterval(() => hangs() && settle(), 1000);
    const settle = (message?: Extract<Message, { kind: Kind }>) => {
      clearInterval(timer);
      child.off('message', read).off('exit', ended);
      resolve(message);
    };
    const ended = () => settle();
    const read = (message: Message) => {
      if (message.kind === kind) settle(message as Extract<Message, { kind: Kind }>);
    };
    child.on('message', read).on('exit', ended);
  });
}

const judge = await Judge.start();
if (judge === undefined) throw new Error('the tests cannot be loaded');
const runs = await judge.survey();
const testsOf = new Map<number, number[]>();
for (const { test, reached, failure } of runs) {
  if (failure !== undefined) {
    console.error(`left out, fails without any mutant: ${titleOf(test)}: ${failure.split('\n', 1)[0]}`);
    continue;
  }
  for (const number of reached) testsOf.set(number, [...(testsOf.get(number) ?? []), test]);
}
// Code whose result the process keeps is reached by one test only, and not when that test runs again.
const reachedOnce = new Map([...testsOf].filter(([, tests]) => tests.length === 1));
const again = await judge.survey([...new Set([...reachedOnce.values()].flat())]);
const reachedAgain = new Set(again.flatMap(({ reached }) => reached));
const once = new Set([...judge.atLoad, ...[...reachedOnce.keys()].filter((item) => !reachedAgain.has(item))]);
/** How many mutants each test has killed. It is likely to kill their neighbours too. */
const kills = new Map<number, number>();
const idle: Judge[] = [judge];

let failed = false;
for (const slice of values.slice) if (!(await isSliceGood(slice))) failed = true;
for (const item of idle) item.end();
process.exit(failed ? 1 : 0);

async function isSliceGood(slice: string): Promise<boolean> {
  const file = join(values.reports, `${slice}.json`);
  const earlier: readonly Judged[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const files = new Set(filesOf(slice));
  const digests = new Map([...files].map((item) => [item, digestOf([item])]));
  const all = numbered.filter((mutant) => files.has(mutant.file));
  const chosen = sample === 0 ? all : drawn(all, sample, seed);
  const judged: Judged[] = [];
  const queue: Numbered[] = [];
  for (const mutant of chosen) {
    const known = earlier.find(
      (item) => isSame(item, mutant) && item.sourceDigest === digests.get(mutant.file),
    );
    const isCertain = known?.verdict === 'killed' || known?.verdict === 'timeout';
    if (known && (isCertain || known.testsDigest === testsDigest)) judged.push(known);
    else queue.push(mutant);
  }
  const save = () => {
    const others = earlier.filter((item) => !judged.some((mutant) => isSame(item, mutant)));
    writeFileSync(file, JSON.stringify([...judged, ...others], undefined, 1));
  };
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { number, ...mutant } = next;
      const { verdict, test } = await verdictOf(next);
      if (test !== undefined) kills.set(test, (kills.get(test) ?? 0) + 1);
      judged.push({
        ...mutant,
        ...{ verdict, test: test === undefined ? undefined : titleOf(test) },
        ...{ sourceDigest: digests.get(mutant.file) ?? '', testsDigest },
      });
      save();
      showProgress(`${slice}: ${judged.length} of ${chosen.length}`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  const text = report(slice, judged, all.length);
  writeFileSync(join(values.reports, `${slice}.md`), text);
  showProgress('');
  console.log(text);
  return percentKilled(judged) >= least;
}

async function verdictOf(mutant: Numbered): Promise<{ verdict: Verdict; test?: number | undefined }> {
  const { number, file } = mutant;
  const reaching = testsOf.get(number) ?? [];
  if (once.has(number)) return verdictFromTheStart(mutant);
  if (reaching.length === 0) return { verdict: 'no coverage' };
  const tests = bestFirst(reaching);
  for (const isFresh of [false, true]) {
    const judge = (isFresh ? undefined : idle.pop()) ?? (await Judge.start());
    if (judge === undefined) throw new Error(`the tests cannot be loaded with the sources of ${file}`);
    const { verdict, test } = await judge.judge(number, tests);
    if (verdict === 'killed' || verdict === 'survived') {
      idle.push(judge);
      return { verdict, test };
    }
    judge.end();
    if (verdict === 'timeout') return { verdict, test };
  }
  return { verdict: 'killed' };
}

function titleOf(test: number): string | undefined {
  return runs[test]?.title;
}

/** For code that runs once in a process: while modules load, or before the first test that needs its result. */
async function verdictFromTheStart({ number, file }: Numbered) {
  const inFile = numbered.filter((item) => item.file === file).map((item) => item.number);
  const reaching = new Set(inFile.flatMap((item) => testsOf.get(item) ?? []));
  const judge = await Judge.start(number);
  if (judge === undefined) return { verdict: 'killed' as const };
  const { verdict, test } = await judge.judge(number, bestFirst([...reaching]));
  judge.end();
  return { verdict: verdict === 'spoiled' ? ('killed' as const) : verdict, test };
}

/** Tests that kill many mutants per millisecond first, then the fastest. */
function bestFirst(tests: readonly number[]): readonly number[] {
  const msOf = (test: number) => runs[test]?.ms ?? 0;
  const rate = (test: number) => (kills.get(test) ?? 0) / (msOf(test) + 1);
  return [...tests].sort((a, b) => rate(b) - rate(a) || msOf(a) - msOf(b));
}

function report(slice: string, judged: readonly Judged[], total: number): string {
  const count = (verdict: Verdict) => judged.filter((item) => item.verdict === verdict).length;
  const alive = judged.filter(({ verdict }) => verdict === 'survived' || verdict === 'no coverage');
  const lines = alive.map((item) => {
    const why = EXPLAINED.find((explained) => isExplanationOf(explained, item))?.why;
    const place = `${item.file}:${item.line}`;
    return `- ${why ? '' : '**unexplained** '}${place} ${item.verdict}: \`${inMarkdown(item.from)}\` → \`${inMarkdown(item.to)}\`${why ? `: ${why}` : ''}`;
  });
  return [
    `${slice}: ${percentKilled(judged).toFixed(1)} % of ${judged.length} mutants killed (of ${total}):`,
    `${count('killed')} killed, ${count('timeout')} timeouts, ${count('survived')} survived, ${count('no coverage')} without coverage`,
    ...lines.sort(),
  ].join('\n');
}

function percentKilled(judged: readonly Judged[]): number {
  const killed = judged.filter(({ verdict }) => verdict === 'killed' || verdict === 'timeout').length;
  return (killed / judged.length) * 100;
}

function isExplanationOf(explained: (typeof EXPLAINED)[number], { file, line, from, to }: Judged): boolean {
  const text = readFileSync(join(ROOT, file), 'utf8').split('\n')[line - 1] ?? '';
  return (
    explained.file === file &&
    (explained.from ?? from) === from &&
    (explained.to ?? to) === to &&
    text.includes(explained.within)
  );
}

function isSame(a: Mutant & { readonly file: string }, b: Mutant & { readonly file: string }): boolean {
  return (
    a.file === b.file && a.line === b.line && a.column === b.column && a.from === b.from && a.to === b.to
  );
}

function filesOf(slice: string): readonly string[] {
  return globSync(join('core/src', slice, '*.ts'), { cwd: ROOT }).sort();
}

function digestOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

function inMarkdown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text || '(nothing)';
}

/** A sample, the same for the same seed (xorshift). */
function drawn<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  let state = seed;
  const random = (limit: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
  const rest = [...all];
  const picked: T[] = [];
  while (picked.length < count && rest.length > 0) picked.push(...rest.splice(random(rest.length), 1));
  return picked;
}
