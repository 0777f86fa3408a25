import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const PACKAGE = join(import.meta.dirname, '..');

test('the description of the package names each of its entry points, and no other', () => {
  const { exports }: { exports: object } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const rows = readFileSync(join(PACKAGE, 'README.md'), 'utf8').matchAll(/^\| (`@grantd[^|]*) \|/gm);
  const named = [...rows].flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '));
  assert.deepEqual(
    named.sort(),
    Object.keys(exports)
      .map((entry) => `@grantd/core${entry.slice(1)}`)
      .sort(),
  );
});
