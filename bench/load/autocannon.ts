import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GENERATOR_CORE, pinned } from '../processes/pinning.ts';
import type { Generator, LoadOrder, LoadResult } from './generator.ts';

const PROGRAM = join(import.meta.dirname, 'autocannon_process.ts');

/** An npm package, for machines without wrk. It is several times slower, so fast servers wait for it. */
export function autocannon(): Generator {
  return { name: 'autocannon', run: runAutocannon };
}

async function runAutocannon(order: LoadOrder): Promise<LoadResult> {
  const [command = '', ...args] = pinned(GENERATOR_CORE, [process.execPath, PROGRAM, JSON.stringify(order)]);
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout) as LoadResult;
}
