import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PopulationOrder } from './order.ts';
import type { Population, population } from './population.ts';

const MAIN = 'bench/population/main.ts';

/**
 * `population` of another version of grantd, by its own code: interfaces of the library differ between versions.
 * The versions have to agree on the order, on what `main.ts` prints, and on `BENCH_CLIENTS`.
 * @param root of its repository, installed
 * @throws Error the version has no `bench/population/main.ts`
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
