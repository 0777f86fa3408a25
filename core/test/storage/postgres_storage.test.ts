import { after, before, describe, test } from 'node:test';
import { storageKit } from '../../src/storage/kit/kit.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';

const clock = { nowMs: 0 };

/** The ways in which a pool may send statements. */
const POOLS = [
  { name: 'PostgreSQL', options: { pipeline: true } },
  { name: 'PostgreSQL without pipelining', options: { pipeline: false } },
] as const;

for (const { name, options } of POOLS) {
  describe(name, { skip: POSTGRES_ABSENCE }, () => {
    let stores: PostgresStores;
    before(async () => {
      stores = new PostgresStores(await disposableDatabase(await sharedPostgres()), options);
    });
    after(() => stores.end());

    const goingBy = { clock: () => clock.nowMs };
    for (const { group, title, run } of storageKit()) {
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
