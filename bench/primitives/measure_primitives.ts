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
/** Operations that are measured, ways included; each once more to warm up. */
const MEASURED = 11;
const LONGEST_SETUP_MS = 60_000;

export interface MeasuredPrimitives {
  readonly primitives: Primitives;
  /** What part of one core everything else took meanwhile; `undefined` where the system does not tell. */
  readonly othersCpu: number | undefined;
}

export interface PrimitivesOrder {
  /** Measured on a copy of it. */
  readonly population: Population;
  /** Which the measuring process is kept to. */
  readonly core: number;
  /** Of which the medians are taken; default: 5. */
  readonly runs?: number;
  /** Seconds that each operation is measured in each run; default: 0.3. */
  readonly seconds?: number;
}

/** Measures in a fresh process on the core of what they are compared with. */
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
