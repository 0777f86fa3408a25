import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './harness/package/packed.ts';
import { output } from './harness/package/run.ts';

test('a release has one version in all packages, in what they need of each other, and in the changelog', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-release-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const places = ['core', 'protect', 'server'].map((name) => join(name, 'package.json'));
  for (const place of places) cpSync(join(ROOT, place), join(folder, place));
  writeFileSync(join(folder, 'CHANGELOG.md'), '# Changelog\n\n## Not released\n\n- A feature.\n');

  output(process.execPath, [join(ROOT, 'scripts', 'release.ts'), 'version', '7.8.9', folder], folder);

  for (const place of places) {
    const { version, dependencies, ...rest } = manifestAt(join(folder, place));
    const { version: _, dependencies: needs, ...others } = manifestAt(join(ROOT, place));
    assert.equal(version, '7.8.9', place);
    for (const [name, needed] of Object.entries(dependencies))
      assert.equal(needed, name.startsWith('@grantd/') ? '7.8.9' : needs[name], name);
    assert.deepEqual(rest, others, place);
  }
  const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
  assert.match(changelog, /^# Changelog\n\n## 7\.8\.9, \d{4}-\d{2}-\d{2}\n\n- A feature\.\n$/);
});

function manifestAt(path: string) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
