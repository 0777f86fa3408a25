import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { output } from './run.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..', '..');

export interface Archive {
  readonly file: string;
  /** Paths inside. */
  readonly contents: readonly string[];
}

/** The archives as npm would publish them, and that of the core's one dependency, so that no registry is asked. */
export interface Archives {
  readonly core: Archive;
  readonly program: Archive;
  readonly jose: Archive;
}

interface Packed {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Builds and packs; two seconds of one core or three. What was built is removed after the tests of the file. */
export function packedArchives(): Archives {
  mkdirSync(join(ROOT, '.test-results'), { recursive: true });
  // Below the repository: what is built is loaded once, to find its exports, and then needs its dependencies.
  const folder = mkdtempSync(join(ROOT, '.test-results', 'package-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  output(process.execPath, [join(ROOT, 'scripts', 'build.ts'), '--into', folder], ROOT);
  const pack = (source: string): Archive => {
    const [packed]: readonly Packed[] = Object.values(
      JSON.parse(output('npm', ['pack', '--json', source], folder)),
    );
    if (packed === undefined) throw new Error(`npm packed nothing of ${source}`);
    return { file: join(folder, packed.filename), contents: packed.files.map(({ path }) => path) };
  };
  return {
    core: pack(join(folder, 'core')),
    program: pack(join(folder, 'server')),
    jose: pack(join(ROOT, 'node_modules', 'jose')),
  };
}

/** A folder outside the repository in which npm has installed the core from its archive, and nothing else. */
export function installedCore({ core, jose }: Archives): string {
  return installed({ '@grantd/core': core.file, jose: jose.file });
}

/** The same with the program, which says what it depends on; from the copies that this repository has. */
export function installedProgram({ core, program }: Archives): string {
  const folder = dirname(program.file);
  const names = [...dependenciesOf('grantd')].filter((name) => name !== '@grantd/core');
  const sources = names.map((name) => join(ROOT, 'node_modules', name));
  const packed: readonly Packed[] = Object.values(
    JSON.parse(output('npm', ['pack', '--json', '--ignore-scripts', ...sources], folder)),
  );
  const files = packed.map(({ name, filename }) => [name, join(folder, filename)] as const);
  return installed({ '@grantd/core': core.file, grantd: program.file, ...Object.fromEntries(files) });
}

function installed(archives: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-consumer-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const dependencies = Object.fromEntries(
    Object.entries(archives).map(([name, file]) => [name, `file:${file}`]),
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  output('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], folder);
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
