import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyPopulation, type Population } from '../population/population.ts';
import { watch } from '../processes/cpu_watch.ts';
import { pinned } from '../processes/pinning.ts';
import type { Primitives } from './primitives.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
/** The number of measured operations, counting each implementation, and one warm-up each. */
const MEASURED = 11;
const LONGEST_SETUP_MS = 60_000;

interface MeasuredPrimitives {
  readonly primitives: Primitives;
  /** The share of one core that other programs used; `undefined` if the system does not report it. */
  readonly othersCpu: number | undefined;
}

interface PrimitivesOrder {
  /** Measured on a copy. */
  readonly population: Population;
  /** The core of the measuring process. */
  readonly core: number;
  /** The result is the median of this many runs. Default: 5. */
  readonly runs?: number;
  /** Seconds per operation and run. Default: 0.3. */
  readonly seconds?: number;
}

/** Measures in a fresh process, on the core of the servers. */
export async function measurePrimitives({
  population,
  core,
  runs = 5,
  seconds = 0.3,
}: PrimitivesOrder): Promise<MeasuredPrimitives> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-'));
  try {
    const path = copyPopulation(population, folder);
    const [command = '', ...args] = pinned(core, [
      process.execPath,
      ...[MAIN, path, String(runs), String(seconds)],
    ]);
    const timeout = LONGEST_SETUP_MS + MEASURED * (runs + 1) * seconds * 2000;
    const watched = watch();
    const { stdout } = await promisify(execFile)(command, args, { timeout });
    return { primitives: JSON.parse(stdout) as Primitives, othersCpu: watched().othersCpu };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
