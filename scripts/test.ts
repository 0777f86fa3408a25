// Runs every check, and then every test.
//
//     npm test -- PATTERN…      only these test files; a folder stands for its files
//     npm test -- --every-pair  the rules only, through every adapter on every store and runtime;
//                               those of the program on every database, and every page in every view
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withMemoryFolder } from './memory_folder.ts';
import { withPackages } from './packed_for_tests.ts';
import { withBundledProgram } from './program_for_tests.ts';
import { runTestFiles } from './run_test_files.ts';
import { withSharedPostgres } from './shared_postgres.ts';

const root = dirname(import.meta.dirname);
process.chdir(root);
mkdirSync('.test-results', { recursive: true });

const TESTS = ['core', 'protect', 'server', 'reliability', 'bench', 'examples', 'site'].map(
  (folder) => `${folder}/test/**/*.test.ts`,
);
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const EVERY_PAIR = '--every-pair';
const isEveryPair = process.argv.includes(EVERY_PAIR);
if (isEveryPair) process.env.TEST_EVERY_PAIR = 'yes';
/** With every pair, a file runs up to ten times as many histories, crashes or races. */
const LONGEST_FILE_MS = isEveryPair ? 3_600_000 : 300_000;
const chosen = process.argv.slice(2).filter((argument) => argument !== EVERY_PAIR);
const isWhole = chosen.length === 0 && !isEveryPair;
const unmatched = chosen.filter((pattern) => globSync(testsIn(pattern)).length === 0);
if (unmatched.length > 0) {
  console.error(`No test file matches ${unmatched.join(' ')}.`);
  process.exit(2);
}
const found = globSync(chosen.length > 0 ? chosen.map(testsIn) : TESTS);
const files = isEveryPair && chosen.length === 0 ? found.filter(hasPairs) : found;
// Test files load much the same modules, so they share Node's compile cache.
const COMPILED = join(root, '.test-results', 'compiled');
if (isWhole) rmSync(COMPILED, { recursive: true, force: true });
process.env.NODE_COMPILE_CACHE ??= COMPILED;

type Step = readonly [name: string, command: string, args: readonly string[]];
const CHECKS: readonly Step[] = [
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['format and lint', bin('biome'), ['ci', '--colors=off', '.']],
  ['layers', process.execPath, ['scripts/check_layers.ts']],
  ['citations', process.execPath, ['scripts/check_citations.ts']],
  ['links', process.execPath, ['scripts/check_links.ts']],
  ['places in the ledger', process.execPath, ['scripts/check_ledger.ts', '--places']],
  ['generated pages', process.execPath, ['scripts/generate_docs.ts', '--check']],
  ['walk of a request', process.execPath, ['scripts/check_walk.ts']],
];
const LEDGER: Step = ['ledger', process.execPath, ['scripts/check_ledger.ts']];

const running = new Set<ChildProcess>();
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of running) child.kill(signal);
  });
}

// The checks run beside one another, and while what the tests share is made.
const checked = isWhole ? Promise.all(CHECKS.map(checks)) : Promise.resolve([]);
const succeeded =
  (await withWhatIsShared(async () => (await checked).every(Boolean) && (await testsSucceed()))) &&
  (!isWhole || (await succeeds(LEDGER)));
if (!succeeded) process.exitCode = 1;

async function testsSucceed(): Promise<boolean> {
  if (interrupted) return false;
  console.log('— tests');
  return runTestFiles(files, { running, isInterrupted: () => interrupted, longestFileMs: LONGEST_FILE_MS });
}

/** Shows a step's output as it comes. */
async function succeeds(step: Step): Promise<boolean> {
  console.log(`— ${step[0]}`);
  return ends(step, 'inherit');
}

/** Shows a step's output once it has ended, since others run at the same time. */
async function checks(step: Step): Promise<boolean> {
  return ends(step, 'pipe');
}

async function ends([name, command, args]: Step, output: 'inherit' | 'pipe'): Promise<boolean> {
  if (interrupted) return false;
  const startedAt = performance.now();
  const child = spawn(command, args, { stdio: ['inherit', output, output] });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const [status] = await once(child, 'close');
  running.delete(child);
  process.stdout.write(text);
  if (status === 0 && !interrupted) {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    // Steps that run beside others slow each other down.
    console.log(output === 'inherit' ? `✔ ${name} (${seconds} s)` : `✔ ${name}`);
    return true;
  }
  console.error(`✖ ${name} failed`);
  return false;
}

/** Material that several files share is created once for all. A single file creates its own. */
function withWhatIsShared(run: () => Promise<boolean>): Promise<boolean> {
  const withProgram = () => (files.filter(usesProgram).length > 1 ? withBundledProgram(run) : run());
  const withServer = () => (files.length > 1 ? withSharedPostgres(withProgram) : withProgram());
  const withAll = () => (files.filter(usesPackages).length > 1 ? withPackages(withServer) : withServer());
  return withMemoryFolder(withAll);
}

function usesPackages(file: string): boolean {
  return /(?:^|\/)(?:runtimes\/[^/]+|package)\.test\.ts$/.test(file);
}

function usesProgram(file: string): boolean {
  return file.startsWith(join('server', 'test'));
}

function hasPairs(file: string): boolean {
  return (
    /(?:^|\/)runtimes\/[^/]+\.test\.ts$/.test(file) ||
    /^specification\(|\bANY_DATABASE\b|\bTEST_EVERY_PAIR\b/m.test(readFileSync(file, 'utf8'))
  );
}

function testsIn(chosen: string): string {
  return statSync(chosen, { throwIfNoEntry: false })?.isDirectory()
    ? join(chosen, '**', '*.test.ts')
    : chosen;
}
