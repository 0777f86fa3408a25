import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { archivesOf, install, PACKED_VARIABLE, type Packed, pack, packedIn, ROOT } from './packed.ts';

/** What this run of the tests has packed; a test file alone packs for itself, and removes it after its tests. */
export function packedPackages(): Packed {
  const { [PACKED_VARIABLE]: made } = process.env;
  return packedIn(made ?? disposable(pack()));
}

/** A folder outside the repository in which npm has installed core and protect, and nothing else. */
export function installedLibraries({ installed }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  cpSync(installed, folder, { recursive: true });
  return folder;
}

/** The same with protect alone. */
export function installedProtect({ protect, jose }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  install(folder, { '@grantd/protect': protect.file, jose: jose.file });
  return folder;
}

/** A folder in which npm has installed the program, which says what it depends on; from the copies that this repository has. */
export function installedProgram({ core, program }: Packed): string {
  const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-consumer-')));
  const names = [...dependenciesOf('grantd')].filter((name) => name !== '@grantd/core');
  const sources = Object.fromEntries(names.map((name) => [name, join(ROOT, 'node_modules', name)]));
  const files = Object.entries(archivesOf(folder, sources)).map(([name, { file }]) => [name, file]);
  const archives = { '@grantd/core': core.file, grantd: program.file, ...Object.fromEntries(files) };
  install(folder, archives, nestedArchives(names));
  return folder;
}

/** What packages have in a version of their own, by package. */
function nestedArchives(parents: readonly string[]): Record<string, Record<string, string>> {
  const nested: Record<string, Record<string, string>> = {};
  for (const parent of parents) {
    const own = join(ROOT, 'node_modules', parent, 'node_modules');
    const names = existsSync(own) ? readdirSync(own).filter((name) => !/^[.@]/.test(name)) : [];
    if (names.length === 0) continue;
    const sources = Object.fromEntries(names.map((name) => [name, join(own, name)]));
    const folder = disposable(mkdtempSync(join(tmpdir(), 'grantd-nested-')));
    const packed = Object.entries(archivesOf(folder, sources)).map(([name, { file }]) => [name, file]);
    nested[parent] = Object.fromEntries(packed);
  }
  return nested;
}

function disposable(folder: string): string {
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Every package that npm installs for another, with those for which they are installed in turn. */
function dependenciesOf(name: string, found = new Set<string>()): ReadonlySet<string> {
  const manifest = join(ROOT, 'node_modules', name, 'package.json');
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (found.has(dependency) || !existsSync(join(ROOT, 'node_modules', dependency))) continue;
    found.add(dependency);
    dependenciesOf(dependency, found);
  }
  return found;
}

/** Lets a consumer use a package of this repository's own development, such as types. */
export function linkPackage(folder: string, name: string): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), place, 'junction');
}
