import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Conditions, publicEntries } from '../../scripts/packaging/published_manifest.ts';

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
