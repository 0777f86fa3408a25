import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Optional peer dependencies of the core. */
export const CERTIFICATE_PACKAGES = ['@peculiar/asn1-schema', '@peculiar/asn1-x509'] as const;

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
  const installed = join(folder, 'installed');
  copyDependencies(join(ROOT, 'core'), installed);
  install(installed, { '@grantd/core': archives.core.file, '@grantd/protect': archives.protect.file });
  const packed: Packed = { ...archives, installed };
  writeFileSync(join(folder, RECORD), JSON.stringify(packed));
}

export function packedIn(folder: string): Packed {
  return JSON.parse(readFileSync(join(folder, RECORD), 'utf8'));
}

/**
 * Copies the dependencies of a package, with theirs, into the modules of a folder. npm finds them there, so it needs
 * neither a registry nor its cache.
 * @param without packages that are not copied
 */
export function copyDependencies(source: string, folder: string, without: readonly string[] = []): void {
  copyPackages(dependenciesOf(source), source, folder, without);
}

/** Copies the packages that a host of the core installs for `tls_client_auth`. */
export function copyCertificatePackages(folder: string): void {
  copyPackages(CERTIFICATE_PACKAGES, join(ROOT, 'core'), folder);
}

/** @param source the package that depends on those of `names` */
function copyPackages(
  names: readonly string[],
  source: string,
  folder: string,
  without: readonly string[] = [],
): void {
  const top = new Map<string, string>();
  const waiting: (readonly [names: readonly string[], source: string, folder: string])[] = [
    [names, source, folder],
  ];
  for (const [needed, dependent, place] of waiting) {
    for (const name of needed) {
      const found = resolved(name, dependent);
      if (found === undefined || without.includes(name) || top.get(name) === found) continue;
      // A second version is nested, as npm does it.
      const target = join(top.has(name) ? place : folder, 'node_modules', name);
      if (!top.has(name)) top.set(name, found);
      cpSync(found, target, { recursive: true, filter: (path) => path !== join(found, 'node_modules') });
      waiting.push([dependenciesOf(found), found, target]);
    }
  }
}

function dependenciesOf(source: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  return Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
}

/** The folder of a dependency, as Node finds it. @returns `undefined` for an optional one of another platform */
function resolved(name: string, dependent: string): string | undefined {
  for (let folder = dependent; folder.startsWith(ROOT); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(found)) return realpathSync(found);
  }
  return undefined;
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

/** Creates a folder in which npm has installed archives, each by the name of its package. */
export function install(folder: string, archives: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  const dependencies = Object.fromEntries(
    Object.entries(archives).map(([name, file]) => [name, `file:${file}`]),
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  output('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], folder);
}
