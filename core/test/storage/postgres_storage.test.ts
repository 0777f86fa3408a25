// Begins early: PostgreSQL runs every case of the kit.
import { after, before, describe, test } from 'node:test';
import { type KitGroup, storageKit } from '../../src/storage/kit/kit.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';

const clock = { nowMs: 0 };

/**
 * The groups of cases that depend on how a pool sends its statements: what is one step, what happens at once, and what
 * fails. `npm run test:every-pair` runs all cases in each way.
 */
const ABOUT_SENDING: readonly KitGroup[] = ['atomicity', 'concurrency', 'faults'];
const isWanted = (group: KitGroup, pipeline: boolean) =>
  pipeline || process.env.TEST_EVERY_PAIR === 'yes' || ABOUT_SENDING.includes(group);

/** The ways in which a pool may send statements. */
const POOLS = [
  { name: 'PostgreSQL', pipeline: true },
  { name: 'PostgreSQL without pipelining', pipeline: false },
] as const;

for (const { name, pipeline } of POOLS) {
  describe(name, { skip: POSTGRES_ABSENCE }, () => {
    let stores: PostgresStores;
    before(async () => {
      const url = await disposableDatabase(await sharedPostgres());
      stores = new PostgresStores(url, { pipeline, checksTablesOnce: true });
    });
    after(() => stores.end());

    const goingBy = { clock: () => clock.nowMs };
    for (const { group, title, run } of storageKit()) {
      if (!isWanted(group, pipeline)) continue;
      test(`${name}, ${group}: ${title}`, () =>
        run({
          clock,
          open: () => stores.open(goingBy),
          openAnother: (storage) => stores.openAnother(storage, goingBy),
          breakStorage: (storage) => storage.close(),
        }));
    }
  });
}
