import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PopulationOrder } from './order.ts';
import type { Population, population } from './population.ts';

const MAIN = 'bench/population/main.ts';

/**
 * Calls `population` of another version of grantd, because interfaces of the library differ between versions. Both
 * versions must have the same order format, output of `main.ts` and `BENCH_CLIENTS`.
 * @param root of its repository, with installed packages
 * @throws Error if the version has no `bench/population/main.ts`
 */
export function populationBy(root: string): typeof population {
  const main = join(root, MAIN);
  if (!existsSync(main)) throw new Error(`expected ${MAIN} in ${root}, to fill a database of that version`);
  return async (order: PopulationOrder) => {
    const printed = execFileSync(process.execPath, [main, JSON.stringify(order)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(printed) as Population;
  };
}
