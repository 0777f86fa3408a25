// Takes about a second.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from './harness/package/packed.ts';
import { output } from './harness/package/run.ts';

test('a changeset becomes one version of all packages, and a line of the changelog, without a network', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-release-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const { workspaces } = manifestIn(ROOT);
  for (const place of [
    '.changeset/config.json',
    'package-lock.json',
    ...['.', ...workspaces].map(manifestOf),
  ]) {
    cpSync(join(ROOT, place), join(folder, place));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  output('git', ['init', '--quiet', '.'], folder);
  writeFileSync(
    join(folder, '.changeset', 'first.md'),
    "---\n'@grantd/core': minor\n---\n\nSomething that users notice.\n",
  );
  const [major = '', minor = ''] = manifestIn(join(ROOT, 'core')).version.split('.');
  const next = `${major}.${Number(minor) + 1}.0`;

  output(process.execPath, [join(ROOT, 'node_modules', '@changesets', 'cli', 'bin.js'), 'version'], folder);

  assert.equal(manifestIn(join(folder, 'core')).version, next);
  assert.equal(manifestIn(join(folder, 'protect')).version, next);
  assert.equal(manifestIn(join(folder, 'server')).version, next);
  assert.equal(manifestIn(join(folder, 'server')).dependencies['@grantd/core'], next);
  assert.equal(
    readFileSync(join(folder, 'core', 'CHANGELOG.md'), 'utf8'),
    `# @grantd/core\n\n## ${next}\n\n### Minor Changes\n\n- Something that users notice.\n`,
  );
});

function manifestOf(place: string): string {
  return join(place, 'package.json');
}

function manifestIn(folder: string) {
  return JSON.parse(readFileSync(manifestOf(folder), 'utf8'));
}
