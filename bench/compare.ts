// `npm run bench:compare -- REF`: compares this tree with a git ref, round by round.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatorOf } from './load/generators.ts';
import { BadUsage, type BenchOptions, benchOptions, MEASURING_FLAGS } from './options.ts';
import { population } from './population/population.ts';
import { populationBy } from './population/population_by.ts';
import { schemaOf } from './population/schema.ts';
import { comparisonLine } from './report/comparison.ts';
import { say, sayingRarely } from './report/progress.ts';
import { measureRounds } from './rounds.ts';
import { programIn } from './subjects/program.ts';
import { introspectionJwtBesideWriter } from './works/introspection_jwt_beside_writer.ts';
import { introspectionPostgres, refreshPostgres, revocationPostgres } from './works/postgres.ts';
import { Stage } from './works/stage.ts';
import type { Contestant, Work } from './works/work.ts';
import { WORKS } from './works/works.ts';

const ROOT = join(import.meta.dirname, '..');
const HERE = 'this one';

const HELP = `npm run bench:compare -- REF [FLAGS]

Measures grantd as it is in this repository, committed or not, against grantd at a git ref, in turns, and prints the
ratio of their throughput. Default: --work introspection-jwt,introspection-opaque,userinfo,client-credentials

${MEASURING_FLAGS}`;

const UNLESS_CHOSEN = ['introspection-jwt', 'introspection-opaque', 'userinfo', 'client-credentials'];

/** Works with one instance of the program; `growth` has several. */
const COMPARABLE = WORKS.filter(({ name }) => name !== 'growth');

/** In these works, this version's code opens the other version's database, so both need the same tables. */
const NEED_SAME_SCHEMA = [
  introspectionJwtBesideWriter,
  introspectionPostgres,
  refreshPostgres,
  revocationPostgres,
];

async function compare(ref: string, options: BenchOptions): Promise<void> {
  const generator = generatorOf(options.generator);
  const { works, sizes, rounds, seconds, warmUpSeconds } = options;
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-'));
  const tree = join(folder, 'repository');
  let isCheckedOut = false;
  process.on('exit', () => {
    if (isCheckedOut) git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

  const commit = commitOf(ref);
  git('worktree', 'add', '--detach', tree, commit);
  isCheckedOut = true;
  const hasSameSchema = schemaOf(tree) === schemaOf(ROOT);
  const refused = hasSameSchema ? undefined : NEED_SAME_SCHEMA.find(({ name }) => works.includes(name));
  if (refused !== undefined)
    throw new BadUsage(`--work ${refused.name}: ${ref} has other tables, and this work needs the same ones`);
  const populate = hasSameSchema ? population : populationBy(tree);
  installIn(tree);
  const here = new Stage({ folder: newFolder(folder, 'here'), sizes, say: sayingRarely(), hasPeers: false });
  const there = new Stage({
    folder: newFolder(folder, 'there'),
    sizes,
    say: sayingRarely(),
    hasPeers: false,
    program: programIn(tree),
    populate,
  });
  const name = `${ref} (${commit.slice(0, 9)})`;
  for (const work of COMPARABLE.filter((work) => works.includes(work.name))) {
    const contestants = [await grantdOf(work, here, HERE), await grantdOf(work, there, name)];
    const order = { rounds, seconds, warmUpSeconds, generator, say };
    console.log(comparisonLine(work.title, await measureRounds(work, contestants, order), [HERE, name]));
  }
}

async function grantdOf(work: Work, stage: Stage, name: string): Promise<Contestant> {
  const grantd = (await work.contestants(stage)).find((contestant) => contestant.name === 'grantd');
  if (grantd === undefined) throw new Error(`${work.name} does not measure grantd by that name`);
  return { ...grantd, name };
}

function installIn(tree: string): void {
  say('installing the dependencies of that version');
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ['npm', []] : ['node', [npm]];
  execFileSync(command, [...args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** @throws {BadUsage} if there is no such commit */
function commitOf(ref: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`).trim();
  } catch {
    throw new BadUsage(`git knows no commit by the name ${ref}`);
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function newFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}

try {
  const [ref, ...flags] = process.argv.slice(2);
  const known = COMPARABLE.map(({ name }) => name);
  const work = flags.some((flag) => flag.startsWith('--work')) ? [] : ['--work', UNLESS_CHOSEN.join(',')];
  const hasRef = ref !== undefined && !ref.startsWith('-');
  const options = benchOptions(hasRef ? [...flags, ...work] : [ref ?? '--help'], known);
  if (options === 'list') console.log(known.join('\n'));
  else if (options === 'help') console.log(HELP);
  else if (hasRef) await compare(ref, options);
  else throw new BadUsage('expected a git ref before the flags; --help says more');
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
