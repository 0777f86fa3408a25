// Runs every check and test, the quickest to fail first.
//
//     npm test -- PATTERN…      only these test files; a folder stands for its files
//     npm test -- --every-pair  the rules only, through every adapter on every store and runtime;
//                               those of the program on every database
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { withMemoryFolder } from './memory_folder.ts';
import { withPackages } from './packed_for_tests.ts';
import { withSharedPostgres } from './shared_postgres.ts';

const root = dirname(import.meta.dirname);
process.chdir(root);
mkdirSync('.test-results', { recursive: true });

const TESTS = ['core', 'protect', 'server', 'reliability', 'bench', 'examples'].map(
  (folder) => `${folder}/test/**/*.test.ts`,
);
/** A test file that takes longer hangs. */
const LONGEST_FILE_MS = 300_000;
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const EVERY_PAIR = '--every-pair';
const isEveryPair = process.argv.includes(EVERY_PAIR);
if (isEveryPair) process.env.TEST_EVERY_PAIR = 'yes';
const chosen = process.argv.slice(2).filter((argument) => argument !== EVERY_PAIR);
const isWhole = chosen.length === 0 && !isEveryPair;
const found = globSync(chosen.length > 0 ? chosen.map(testsIn) : TESTS);
const files = isEveryPair && chosen.length === 0 ? found.filter(hasPairs) : found;
// Test files load much the same modules, so they share Node's compile cache.
const COMPILED = join(root, '.test-results', 'compiled');
if (isWhole) rmSync(COMPILED, { recursive: true, force: true });
process.env.NODE_COMPILE_CACHE ??= COMPILED;

if (files.length === 0) {
  console.error(`No test file matches ${chosen.join(' ')}.`);
  process.exit(2);
}

const tests = [
  '--test',
  // One more than there are cores, because files sometimes wait.
  `--test-concurrency=${availableParallelism() + 1}`,
  `--test-timeout=${LONGEST_FILE_MS}`,
  '--test-reporter=./scripts/test_reporter.ts',
  '--test-reporter-destination=stdout',
  ...files,
];
const steps: readonly (readonly [string, string, readonly string[]])[] = [
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['format and lint', bin('biome'), ['ci', '--colors=off', '.']],
  ['layers', process.execPath, ['scripts/check_layers.ts']],
  ['citations', process.execPath, ['scripts/check_citations.ts']],
  ['links', process.execPath, ['scripts/check_links.ts']],
  ['places in the ledger', process.execPath, ['scripts/check_ledger.ts', '--places']],
  ['generated pages', process.execPath, ['scripts/generate_docs.ts', '--check']],
  ['walk of a request', process.execPath, ['scripts/check_walk.ts']],
  ['tests', process.execPath, tests],
  ['ledger', process.execPath, ['scripts/check_ledger.ts']],
];

let running: ChildProcess | undefined;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  if (interrupted) return false;
  running = spawn(command, args, { stdio: 'inherit' });
  const [status] = await once(running, 'exit');
  running = undefined;
  return status === 0 && !interrupted;
}

for (const [name, command, args] of isWhole ? steps : steps.filter(([step]) => step === 'tests')) {
  const startedAt = performance.now();
  console.log(`— ${name}`);
  const run = () => succeeds(command, args);
  const succeeded = name === 'tests' ? await withWhatIsShared(run) : await run();
  if (!succeeded) {
    console.error(`✖ ${name} failed`);
    process.exit(1);
  }
  console.log(`✔ ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
}

/** Material that several files share is created once for all. A single file creates its own. */
function withWhatIsShared(run: () => Promise<boolean>): Promise<boolean> {
  const withServer = () => (files.length > 1 ? withSharedPostgres(run) : run());
  const withBoth = () => (files.filter(usesPackages).length > 1 ? withPackages(withServer) : withServer());
  return withMemoryFolder(withBoth);
}

function usesPackages(file: string): boolean {
  return /(?:^|\/)(?:runtimes\/[^/]+|package)\.test\.ts$/.test(file);
}

function hasPairs(file: string): boolean {
  return (
    /(?:^|\/)runtimes\/[^/]+\.test\.ts$/.test(file) ||
    /^specification\(|\bANY_DATABASE\b/m.test(readFileSync(file, 'utf8'))
  );
}

function testsIn(chosen: string): string {
  return statSync(chosen, { throwIfNoEntry: false })?.isDirectory()
    ? join(chosen, '**', '*.test.ts')
    : chosen;
}
