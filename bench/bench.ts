// `npm run bench`: measures the throughput of grantd, a bare server and other authorization servers, and judges the
// goals.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackages, installProgram } from './install.ts';
import { generatorOf } from './load/generators.ts';
import { BadUsage, type BenchOptions, benchOptions, HELP, nameToComplete } from './options.ts';
import { measurePrimitives } from './primitives/measure_primitives.ts';
import type { Primitives } from './primitives/primitives.ts';
import { SERVER_CORE } from './processes/pinning.ts';
import { GOALS, PARTS_OF_CEILINGS } from './report/goals.ts';
import { thisMachine, thisRevision } from './report/machine.ts';
import { say, sayingRarely } from './report/progress.ts';
import { type RunResults, type WorkResult, workResult } from './report/results.ts';
import { completed, incompleteRun, requireSame, store } from './report/stored_runs.ts';
import { tables } from './report/tables.ts';
import { measureRounds } from './rounds.ts';
import type { Spread } from './statistics.ts';
import { Steps } from './steps.ts';
import { type ApiChecks, measureApiChecks } from './works/api_checks.ts';
import { type Memory, measureMemory, measureMemoryOfMany } from './works/memory.ts';
import { measureOpenLoop, type OpenLoop } from './works/open_loop.ts';
import { measureSignIn, type SignInResult } from './works/sign_in.ts';
import { Stage } from './works/stage.ts';
import { measureStart } from './works/start.ts';
import { WORKS } from './works/works.ts';

/** Works besides `WORKS`, which measure throughput. */
const OTHERS = ['api-checks', 'open-loop', 'memory', 'memory-of-many', 'start', 'sign-in'];
const KNOWN = [...WORKS.map(({ name }) => name), ...OTHERS];

/** Works that are compared with a ceiling or with the commit rate. */
const HAS_CEILING = new Set(
  GOALS.filter(({ restsOn = [], bound }) => bound !== undefined || restsOn.includes(PARTS_OF_CEILINGS)).map(
    ({ work }) => work,
  ),
);

async function measure(options: BenchOptions, folder: string): Promise<RunResults> {
  const { works: chosen, sizes, rounds, seconds, warmUpSeconds, isComparison } = options;
  const startedAt = new Date().toISOString();
  const generator = generatorOf(options.generator);
  const stage = new Stage({ folder, sizes, say: sayingRarely(), program: installProgram(), isComparison });
  const works: Record<string, WorkResult> = {};
  let primitives: Primitives | undefined;
  let memory: Memory | undefined;
  let memoryOfMany: Memory | undefined;
  let start: Spread | undefined;
  let signIn: SignInResult | undefined;
  let openLoop: OpenLoop | undefined;
  let apiChecks: ApiChecks | undefined;

  const othersCpu: Record<string, number> = {};
  const tellOthers = (name: string, share: number | undefined) => {
    if (share !== undefined) othersCpu[name] = share;
  };

  const steps = new Steps(say);
  for (const work of WORKS.filter(({ name }) => chosen.includes(name)))
    steps.add(work.name, async () => {
      const order = { rounds, seconds, warmUpSeconds, generator, say };
      works[work.name] = workResult(work, await measureRounds(work, await work.contestants(stage), order));
    });
  if (!isComparison && chosen.some((name) => name === PARTS_OF_CEILINGS || HAS_CEILING.has(name)))
    steps.add(PARTS_OF_CEILINGS, async () => {
      const measured = await measurePrimitives({ population: await stage.population(), core: SERVER_CORE });
      primitives = measured.primitives;
      tellOthers(PARTS_OF_CEILINGS, measured.othersCpu);
    });
  if (chosen.includes('api-checks'))
    steps.add('api-checks', async () => {
      apiChecks = await measureApiChecks({ generator, rounds, seconds });
      const others = Object.values(apiChecks).flatMap(({ othersCpu }) => othersCpu?.median ?? []);
      if (others.length > 0) tellOthers('api-checks', Math.max(...others));
    });
  if (chosen.includes('open-loop'))
    steps.add('open-loop', async () => {
      const measured = await measureOpenLoop(stage, generator);
      openLoop = measured.openLoop;
      tellOthers('open-loop', measured.othersCpu);
    });
  if (chosen.includes('memory'))
    steps.add('memory', async () => {
      const measured = await measureMemory(stage, generator);
      memory = measured?.memory;
      tellOthers('memory', measured?.othersCpu);
    });
  if (chosen.includes('memory-of-many'))
    steps.add('memory-of-many', async () => {
      const measured = await measureMemoryOfMany(stage, generator);
      memoryOfMany = measured?.memory;
      tellOthers('memory-of-many', measured?.othersCpu);
    });
  if (chosen.includes('start'))
    steps.add('start', async () => {
      const measured = await measureStart(stage);
      start = measured.start;
      tellOthers('start', measured.othersCpu);
    });
  if (chosen.includes('sign-in'))
    steps.add('sign-in', async () => {
      const measured = await measureSignIn(stage);
      signIn = measured.signIn;
      tellOthers('sign-in', measured.othersCpu);
    });
  const failed = await steps.run();

  return {
    ...{ startedAt, revision: thisRevision(), machine: thisMachine(), generator: generator.name },
    ...{ rounds, seconds, warmUpSeconds, sizes, works, failed, othersCpu, isComparison },
    ...(primitives !== undefined && { primitives }),
    ...(openLoop !== undefined && { openLoop }),
    ...(apiChecks !== undefined && { apiChecks }),
    ...(memory !== undefined && { memory }),
    ...(memoryOfMany !== undefined && { memoryOfMany }),
    ...(start !== undefined && { start }),
    ...(signIn !== undefined && { signIn }),
  };
}

/** @param before the run that the works of `options` complete */
async function main(options: BenchOptions, before?: RunResults): Promise<void> {
  installPackages();
  if (before !== undefined)
    requireSame(before, { machine: thisMachine(), generator: generatorOf(options.generator).name });
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

  const measured = await measure(options, folder);
  const results = before === undefined ? measured : completed(before, measured);
  console.log(tables(results));
  if (Object.keys(results.failed).length > 0) process.exitCode = 1;
  if (options.name === undefined) return;
  const file = store(options.name, results);
  say(`stored in ${file}.json, ${file}.svg and ${file}.md`);
}

try {
  const args = process.argv.slice(2);
  const name = nameToComplete(args);
  const before = name === undefined ? undefined : incompleteRun(name);
  const options =
    before === undefined
      ? benchOptions(args, KNOWN)
      : {
          ...{ isComparison: false, ...before, works: Object.keys(before.failed) },
          ...{ generator: undefined, name },
        };
  if (options === 'help') console.log(HELP);
  else if (options === 'list') console.log(KNOWN.join('\n'));
  else await main(options, before);
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
