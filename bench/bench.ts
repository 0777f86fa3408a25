// `npm run bench`: what grantd does a second, beside a bare server and others of its kind, and whether the goals are met.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPeers } from './install.ts';
import { generatorOf } from './load/generators.ts';
import { BadUsage, type BenchOptions, benchOptions, HELP } from './options.ts';
import { measurePrimitives } from './primitives/measure_primitives.ts';
import { SERVER_CORE } from './processes/pinning.ts';
import { thisMachine, thisRevision } from './report/machine.ts';
import { plotOf } from './report/plot_of_results.ts';
import { say, sayingRarely } from './report/progress.ts';
import { type RunResults, type WorkResult, workResult } from './report/results.ts';
import { tables } from './report/tables.ts';
import { measureRounds } from './rounds.ts';
import { measureMemory } from './works/memory.ts';
import { Stage } from './works/stage.ts';
import { measureStart } from './works/start.ts';
import { WORKS } from './works/works.ts';

/** Besides those of `WORKS`, which measure throughput. */
const OTHERS = ['memory', 'start'];
const KNOWN = [...WORKS.map(({ name }) => name), ...OTHERS];

/** Works whose goals are parts of a ceiling, or of the rate of commits. */
const HAS_CEILING = new Set([
  'introspection-cold-rs256',
  'introspection-cold-es256',
  'revocation-1',
  'revocation-64',
  'mix',
  'client-credentials',
]);

const RESULTS = join(import.meta.dirname, 'results');

async function measure(options: BenchOptions, folder: string): Promise<RunResults> {
  const { works, sizes, rounds, seconds, warmUpSeconds } = options;
  const generator = generatorOf(options.generator);
  const results = {
    startedAt: new Date().toISOString(),
    revision: thisRevision(),
    machine: thisMachine(),
    generator: generator.name,
    rounds,
    seconds,
    sizes,
  };
  const stage = new Stage({ folder, sizes, say: sayingRarely() });

  const measured: Record<string, WorkResult> = {};
  for (const work of WORKS) {
    if (!works.includes(work.name)) continue;
    try {
      const contestants = await work.contestants(stage);
      const order = { rounds, seconds, warmUpSeconds, generator, say };
      measured[work.name] = workResult(work, await measureRounds(work, contestants, order));
    } catch (error) {
      // A long run goes on: what else it measures is no less true.
      say(`${work.name} failed: ${error instanceof Error ? error.message : error}`);
      process.exitCode = 1;
    }
  }
  const population = await stage.population();
  const primitives = works.some((name) => HAS_CEILING.has(name))
    ? await measurePrimitives({ population, core: SERVER_CORE })
    : undefined;
  const memory = works.includes('memory') ? await measureMemory(stage, generator) : undefined;
  return {
    ...results,
    works: measured,
    ...(primitives !== undefined && { primitives }),
    ...(memory !== undefined && { memory }),
    ...(works.includes('start') && { start: await measureStart(stage) }),
  };
}

async function main(options: BenchOptions): Promise<void> {
  installPeers();
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

  const results = await measure(options, folder);
  console.log(tables(results));
  if (options.name === undefined) return;
  if (process.exitCode === 1) return say('not kept, since not everything was measured');
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, options.name);
  writeFileSync(`${file}.json`, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(`${file}.svg`, plotOf(results));
  say(`kept in ${file}.json and ${file}.svg`);
}

try {
  const options = benchOptions(process.argv.slice(2), KNOWN);
  if (options === 'help') console.log(HELP);
  else if (options === 'list') console.log(KNOWN.join('\n'));
  else await main(options);
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
