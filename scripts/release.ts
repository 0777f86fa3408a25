// `release.ts version 0.2.0` writes a version to the packages and to the changelog. `release.ts publish` publishes the
// built packages that npm does not have yet in this version, so it can be run again after a failure.
// `version` takes the folder of another tree as a second argument.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PACKAGES = ['core', 'protect', 'server'];
const UNRELEASED = '## Not released';

const [command, version = '', root = dirname(import.meta.dirname)] = process.argv.slice(2);
if (command === 'version' && /^\d+\.\d+\.\d+$/.test(version)) setVersion(root, version);
else if (command === 'publish') publish();
else {
  console.error('Usage: release.ts version MAJOR.MINOR.PATCH [FOLDER] | release.ts publish');
  process.exitCode = 2;
}

/** The packages have the same version, and depend on each other in exactly this version. */
function setVersion(folder: string, next: string): void {
  const manifests = PACKAGES.map((name) => join(folder, name, 'package.json'));
  const names = manifests.map((path) => read(path).name);
  for (const path of manifests) {
    const manifest = read(path);
    manifest.version = next;
    for (const name of names)
      if (manifest.dependencies?.[name] !== undefined) manifest.dependencies[name] = next;
    writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
  }
  const changelog = join(folder, 'CHANGELOG.md');
  const text = readFileSync(changelog, 'utf8');
  if (!text.includes(`${UNRELEASED}\n`)) throw new Error(`${changelog} has no heading "${UNRELEASED}"`);
  writeFileSync(
    changelog,
    text.replace(`${UNRELEASED}\n`, `## ${next}, ${new Date().toISOString().slice(0, 10)}\n`),
  );
}

function publish(): void {
  for (const name of PACKAGES) {
    const folder = join(root, name, 'dist');
    const manifest = read(join(folder, 'package.json'));
    const exact = `${manifest.name}@${manifest.version}`;
    if (npm('view', exact, 'version').stdout.trim() === manifest.version) {
      console.error(`${exact} is published already`);
      continue;
    }
    const { status, stdout, stderr } = npm('publish', folder, '--access', 'public');
    console.error(stdout + stderr);
    if (status !== 0) throw new Error(`npm did not publish ${exact}`);
  }
}

function npm(...args: readonly string[]) {
  return spawnSync('npm', args, { encoding: 'utf8' });
}

function read(path: string): { name: string; version: string; dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(path, 'utf8'));
}
