import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from './run.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..', '..');

export interface Archive {
  readonly file: string;
  /** Paths inside. */
  readonly contents: readonly string[];
}

/** The packages as npm would publish them, with the libraries' one dependency, so that no registry is needed. */
export interface Packed {
  readonly core: Archive;
  readonly protect: Archive;
  readonly program: Archive;
  readonly jose: Archive;
  /** A folder in which npm has installed core and protect from their archives. Copy it before use. */
  readonly installed: string;
}

/** Publishes a folder of `pack` to later test files of the run. */
export const PACKED_VARIABLE = 'GRANTD_TEST_PACKED';

const RECORD = 'packed.json';

/** Builds, packs and installs; takes five seconds of one core. Returns a new folder with everything, for `packedIn`. */
export function pack(): string {
  const results = join(ROOT, '.test-results');
  mkdirSync(results, { recursive: true });
  // Inside the repository: the build loads its output once to find the exports, which needs the dependencies.
  const folder = mkdtempSync(join(results, 'package-'));
  try {
    packInto(folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

function packInto(folder: string): void {
  output(process.execPath, [join(ROOT, 'scripts', 'build.ts'), '--into', folder], ROOT);
  const archives = archivesOf(folder, {
    core: join(folder, 'core'),
    protect: join(folder, 'protect'),
    program: join(folder, 'server'),
    jose: join(ROOT, 'node_modules', 'jose'),
  });
  const names = [...dependenciesOf('@grantd/core')].filter((name) => name !== 'jose');
  const installed = join(folder, 'installed');
  install(installed, {
    '@grantd/core': archives.core.file,
    '@grantd/protect': archives.protect.file,
    jose: archives.jose.file,
    ...copiesOf(folder, names),
  });
  const packed: Packed = { ...archives, installed };
  writeFileSync(join(folder, RECORD), JSON.stringify(packed));
}

export function packedIn(folder: string): Packed {
  return JSON.parse(readFileSync(join(folder, RECORD), 'utf8'));
}

/** The packages that npm installs for others, with their dependents. */
export function dependenciesOf(name: string, found = new Set<string>()): ReadonlySet<string> {
  const manifest = join(ROOT, 'node_modules', name, 'package.json');
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (found.has(dependency) || !existsSync(join(ROOT, 'node_modules', dependency))) continue;
    found.add(dependency);
    dependenciesOf(dependency, found);
  }
  return found;
}

interface NpmPacked {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs folders with npm. Returns the archive of each by its key. */
export function archivesOf<Key extends string>(
  folder: string,
  sources: Readonly<Record<Key, string>>,
): Readonly<Record<Key, Archive>> {
  const entries = Object.entries<string>(sources);
  const args = ['pack', '--json', '--ignore-scripts', ...entries.map(([, source]) => source)];
  const packed: readonly NpmPacked[] = Object.values(JSON.parse(output('npm', args, folder)));
  const archives = entries.map(([key, source]) => {
    const { name } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
    const one = packed.find((each) => each.name === name);
    if (one === undefined) throw new Error(`npm packed nothing of ${source}`);
    return [key, { file: join(folder, one.filename), contents: one.files.map(({ path }) => path) }];
  });
  return Object.fromEntries(archives);
}

/**
 * Archives of packages that npm has installed in a folder of modules, by name. They need not be packed as if they were
 * published, which takes fifty times as long.
 */
export function copiesOf(
  folder: string,
  names: readonly string[],
  modules = join(ROOT, 'node_modules'),
): Readonly<Record<string, string>> {
  const copies = names.map((name) => {
    const file = join(mkdtempSync(join(folder, 'copy-')), `${name.replace('/', '-')}.tgz`);
    output('tar', ['-cf', file, '--exclude=./node_modules', '-C', join(modules, name), '.'], folder);
    return [name, file];
  });
  return Object.fromEntries(copies);
}

/**
 * Creates a folder in which npm has installed archives, each by the name of its package.
 * @param ofParents archives of other versions, for the packages that depend on those
 */
export function install(
  folder: string,
  archives: Readonly<Record<string, string>>,
  ofParents: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): void {
  mkdirSync(folder, { recursive: true });
  const specifiersOf = (files: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(files).map(([name, file]) => [name, `file:${file}`]));
  const overrides = Object.fromEntries(
    Object.entries(ofParents).map(([parent, files]) => [parent, specifiersOf(files)]),
  );
  const manifest = { private: true, dependencies: specifiersOf(archives), overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  output('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], folder);
}
