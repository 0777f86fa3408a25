import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { populationBy } from '../population/population_by.ts';
import { schemaOf } from '../population/schema.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SCHEMA = ['core/src/storage/sqlite/schema.ts', 'server/src/data/program_migrations.ts'];

test('a version with other tables fills its database by its own code', async (t) => {
  const root = rootWith(t, {
    'bench/population/main.ts': `
      const [, main, order] = process.argv;
      console.log(JSON.stringify({ order: JSON.parse(order), database: main, tokenFiles: {} }));`,
  });
  const order = { records: 10, tokens: { opaque: 3 } };
  const database = join(root, 'bench/population/main.ts');
  assert.deepEqual(await populationBy(root)(order), { order, database, tokenFiles: {} });
});

test('a version that cannot fill a database is refused before anything is measured', () => {
  assert.throws(() => populationBy('/nowhere'), /^Error: expected bench\/population\/main\.ts in \/nowhere/);
});

test('two versions have the same tables if both files of the schema are the same', (t) => {
  const copy = rootWith(t, {});
  for (const file of SCHEMA) cpSync(join(ROOT, file), join(copy, file));
  assert.equal(schemaOf(copy), schemaOf(ROOT));
  assert.notEqual(schemaOf(ROOT), undefined);

  writeFileSync(join(copy, SCHEMA[0] ?? ''), 'CREATE TABLE another (id)');
  assert.notEqual(schemaOf(copy), schemaOf(ROOT));
});

test('a version that keeps its schema elsewhere has other tables', (t) => {
  assert.equal(schemaOf(rootWith(t, {})), undefined);
});

/** A repository of another version, with these files. */
function rootWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}
