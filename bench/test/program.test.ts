import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { programIn } from '../subjects/program.ts';

for (const [files, program] of [
  [['server/src/main.ts'], 'server/src/main.ts'],
  [['server/src/main.ts', 'server/bin/grantd.mjs'], 'server/bin/grantd.mjs'],
  [['server/bin/grantd.mjs'], 'server/bin/grantd.mjs'],
] as const)
  test(`of a version with ${files.join(' and ')}, ${program} is started`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
    t.after(() => rmSync(root, { recursive: true }));
    for (const file of files) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), '');
    }
    assert.equal(programIn(root), join(root, program));
  });

test('a version that cannot be started is refused before anything is measured', () => {
  assert.throws(
    () => programIn('/nowhere'),
    /^Error: expected server\/bin\/grantd\.mjs or server\/src\/main\.ts/,
  );
});
