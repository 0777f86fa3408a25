// Changes the source in one place at a time and runs the tests of that slice. A mutant survives if no test fails. The
// tests run on the memory store, without an adapter. Exits with 1 if the score is below `--least`.
//
//     npm run test:mutation -- --slice introspection --sample 100 --seed 1 --least 85
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { wholeNumber } from './arguments.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';

const ROOT = dirname(import.meta.dirname);
const TEST = (name: string) => `core/test/${name}.test.ts`;

/** The tests of each slice, the likeliest to fail first. */
const SLICES: Readonly<Record<string, readonly string[]>> = {
  introspection: [
    'rfc7662_introspection',
    'rfc9701_introspection_jwt',
    'hosts',
    'faults',
    'refusal_events',
  ].map(TEST),
  revocation: ['rfc7009_revocation', 'hosts', 'refusal_events', 'lookups_at_once'].map(TEST),
  userinfo: [
    ...['oidc_core_5_3_userinfo', 'oidc_core_5_3_2_userinfo_jwt', 'oidc_core_5_5_claims', 'hosts'],
    ...['application_claims', 'refusal_events'],
  ].map(TEST),
  token: [
    ...['rfc6749_refresh_token', 'rfc6749_authorization_code', 'rfc6749_client_credentials'],
    ...[
      'rfc8707_resource_token',
      'rfc9700_api_scopes',
      'oidc_core_2_id_token',
      'oidc_core_12_refresh_id_token',
    ],
    ...['refresh_concurrency', 'changed_client', 'application_claims', 'hosts', 'refusal_events'],
  ].map(TEST),
  tokens: [
    ...['rfc7662_introspection', 'rfc6749_refresh_token', 'rfc6749_authorization_code', 'jwt_service'],
    ...[
      'oidc_core_2_id_token',
      'oidc_core_8_pairwise',
      'application_claims',
      'client_keys',
      'signature_checks',
    ],
    ...['signatures', 'rfc9701_introspection_jwt', 'oidc_core_5_3_userinfo', 'oidc_core_5_3_2_userinfo_jwt'],
    ...['rfc7009_revocation', 'hosts', 'client_secrets', 'oidc_back_channel_logout', 'options'],
    ...['rfc7523_client_assertions', 'rfc8414_metadata', 'identifier', 'incidents', 'former_jwts'],
  ].map(TEST),
};
/** A mutant that runs longer has made the tests wait for ever. */
const LONGEST_MS = 120_000;

const { values } = parseArgs({
  options: {
    slice: { type: 'string', multiple: true, default: Object.keys(SLICES) },
    sample: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '2' },
    least: { type: 'string', default: '85' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(`npm run test:mutation -- [FLAGS]

  --slice NAME    ${Object.keys(SLICES).join(', ')}; may be repeated (all)
  --sample N      mutants of each slice, drawn at random; 0 is all (0)
  --seed N        of the draw (1)
  --parallel N    test processes at a time (2)
  --least N       percent that must be killed (85)`);
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), 'grantd-mutation-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const sample = wholeNumber('sample', values.sample, 0);
const random = pseudoRandom(wholeNumber('seed', values.seed));
let failed = false;

for (const slice of values.slice) {
  const tests = SLICES[slice];
  if (tests === undefined) throw new Error(`--slice: expected some of ${Object.keys(SLICES).join(', ')}`);
  if (!(await passes(tests, {}))) throw new Error(`the tests of ${slice} fail without any mutant`);
  const all = globSync(join('core/src', slice, '*.ts'), { cwd: ROOT }).flatMap((file) =>
    mutantsOf(readFileSync(join(ROOT, file), 'utf8')).map((mutant) => ({ file, mutant })),
  );
  const chosen = sample === 0 ? all : drawn(all, sample);
  const survivors: string[] = [];
  let done = 0;
  const queue = [...chosen];
  const work = async (worker: number) => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (await survives(next.file, next.mutant, tests, worker))
        survivors.push(
          `${next.file}:${next.mutant.line}  ${shown(next.mutant.from)} → ${shown(next.mutant.to)}`,
        );
      done += 1;
      process.stderr.write(`\r${slice}: ${done} of ${chosen.length}, ${survivors.length} survived `);
    }
  };
  await Promise.all(
    Array.from({ length: wholeNumber('parallel', values.parallel) }, (_, worker) => work(worker)),
  );
  process.stderr.write('\n');
  const killed = ((chosen.length - survivors.length) / chosen.length) * 100;
  console.log(`${slice}: ${killed.toFixed(1)} % of ${chosen.length} mutants killed (of ${all.length})`);
  for (const survivor of survivors.sort()) console.log(`  ${survivor}`);
  if (killed < wholeNumber('least', values.least)) failed = true;
}
process.exit(failed ? 1 : 0);

function survives(file: string, mutant: Mutant, tests: readonly string[], worker: number): Promise<boolean> {
  const source = join(folder, `${worker}.js`);
  writeFileSync(source, mutant.source);
  return passes(tests, { MUTANT_URL: pathToFileURL(join(ROOT, file)).href, MUTANT_SOURCE: source });
}

/** Whether all tests pass. Stops at the first failure. */
function passes(tests: readonly string[], variables: Readonly<Record<string, string>>): Promise<boolean> {
  const swap = pathToFileURL(join(ROOT, 'reliability/mutation/swap.mjs')).href;
  const child = spawn(
    process.execPath,
    ['--import', swap, '--test', '--test-isolation=none', '--test-reporter=tap', ...tests],
    {
      cwd: ROOT,
      env: { ...process.env, ...variables, TEST_ON_MEMORY_ALONE: 'yes' },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  return new Promise((resolve) => {
    let rest = '';
    const timer = setTimeout(() => settle(false), LONGEST_MS);
    const settle = (hasPassed: boolean) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      resolve(hasPassed);
    };
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (lines.some((line) => /^\s*not ok /.test(line))) settle(false);
    });
    child.on('exit', (status) => settle(status === 0));
  });
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text || '(nothing)';
}

function drawn<T>(all: readonly T[], count: number): readonly T[] {
  const rest = [...all];
  const picked: T[] = [];
  while (picked.length < count && rest.length > 0) picked.push(...rest.splice(random(rest.length), 1));
  return picked;
}

/** Whole numbers from 0 up to a limit, the same for the same seed (xorshift). */
function pseudoRandom(seed: number): (limit: number) => number {
  let state = seed || 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}
