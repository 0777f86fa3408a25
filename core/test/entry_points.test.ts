import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Conditions, publicEntries } from '../../scripts/packaging/published_manifest.ts';
import { publicNames } from '../../scripts/public_names_page.ts';

const ROOT = join(import.meta.dirname, '..', '..');

for (const name of ['core', 'protect']) {
  test(`the description of ${name} names each of its entry points, and no other`, () => {
    const { exports }: { exports: Conditions } = JSON.parse(
      readFileSync(join(ROOT, name, 'package.json'), 'utf8'),
    );
    const rows = readFileSync(join(ROOT, name, 'README.md'), 'utf8').matchAll(/^\| (`@grantd[^|]*) \|/gm);
    const named = [...rows].flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '));
    assert.deepEqual(
      named.sort(),
      Object.keys(publicEntries(exports))
        .map((entry) => `@grantd/${name}${entry.slice(1)}`)
        .sort(),
    );
  });
}

/** What a host needs to open a store, and to keep its own tables in the same database. */
const STORE_NAMES = {
  sqlite: {
    values: ['migrateTables', 'openSqliteStorage'],
    types: [
      ...['Migration', 'MigrationDirection', 'Reads', 'SchemaState', 'SqliteConnection', 'SqliteHostTables'],
      ...['SqliteStorage', 'SqliteStorageOptions', 'SqliteTables', 'Transaction'],
    ],
  },
  postgres: {
    values: ['eventOf', 'insertEvent', 'openPostgresStorage'],
    types: [
      ...['EventInsertion', 'PostgresClient', 'PostgresDeadlines', 'PostgresPool', 'PostgresQuery'],
      ...['PostgresResult', 'PostgresStorageOptions'],
    ],
  },
};

for (const [store, expected] of Object.entries(STORE_NAMES)) {
  test(`the entry point of the store ${store} has only what hosts need`, async () => {
    const file = join(ROOT, 'core', 'src', 'storage', store, `${store}_storage.ts`);
    const { values, types } = await publicNames(`@grantd/core/${store}`, file);
    assert.deepEqual({ values: [...values].sort(), types: [...types].sort() }, expected);
  });
}
