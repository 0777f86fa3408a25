// Builds the published form of each package in its folder `dist`: compiled or bundled code, declarations and a
// manifest. `npm pack ./core/dist` makes the archive. Nothing in this repository needs it. `--into FOLDER` writes to
// another folder, which must be inside this repository, because the compiler needs its dependencies (ADR 32, ADR 111).
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleProgram, EMBEDDED, PROGRAM } from './packaging/bundled_program.ts';
import { carrySources, filesOf } from './packaging/carried_sources.ts';
import { commonjsDoor, modulesReachedFrom } from './packaging/commonjs_door.ts';
import {
  carriedImports,
  entryModules,
  type Manifest,
  publicEntries,
  publishedManifest,
} from './packaging/published_manifest.ts';
import { reachedDeclarations } from './packaging/reached_declarations.ts';

const root = dirname(import.meta.dirname);
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** What applications import of the program, and what it re-exports. */
const DECLARED_OF_PROGRAM = ['src/embed.ts', 'src/config/refused.ts'];

const { into } = parseArgs({ options: { into: { type: 'string' } } }).values;

for (const name of ['core', 'protect', 'server']) {
  const folder = join(root, name);
  const target = into === undefined ? join(folder, 'dist') : join(into, name);
  const startedAtMs = performance.now();
  console.error(`Compiling ${name} …`);
  await build(folder, target);
  const files = globSync(join(target, '**'), { withFileTypes: true }).filter((entry) => entry.isFile());
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.error(`Built ${relative(root, target)}: ${files.length} files in ${seconds} s`);
}

async function build(folder: string, target: string): Promise<void> {
  const manifest = manifestOf(folder);
  const core = join(root, 'core');
  const internals = manifestOf(core).exports ?? {};
  const sources = join(target, 'src');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(join(folder, 'src'), sources, { recursive: true });
  if (folder !== core)
    carrySources(sources, join(core, 'src'), filesOf(carriedImports(manifest.imports ?? {}, internals)));
  // The compiler resolves `imports` with it.
  writeFileSync(
    join(target, 'package.json'),
    `${JSON.stringify(publishedManifest(manifest, internals), undefined, 2)}\n`,
  );
  if (manifest.bin === undefined) compile(join(folder, 'tsconfig.build.json'), target, ['src'], 'src', 'lib');
  else await buildProgram(folder, target, Object.keys(manifest.dependencies ?? {}));
  for (const file of [join(folder, 'README.md'), join(root, 'LICENSE')])
    cpSync(file, join(target, basename(file)));
  // The compiled code is readable, and the declarations have the documentation.
  rmSync(sources, { recursive: true });
  if (manifest.exports === undefined) return;
  nameCompiledFiles(join(target, 'lib'));
  removeModulesOfTypes(join(target, 'lib'));
  const entries = entryModules(manifest.exports);
  if (manifest.bin === undefined) removeUnreachedCode(target, entries);
  const declarations = reachedDeclarations(entries, declarationsIn(join(target, 'lib')));
  replaceDeclarations(join(target, 'lib'), declarations);
  removeRepeatedDocs(join(target, 'lib'));
  indentByTabs(join(target, 'lib'));
  for (const module of entries) await addCommonjsDoor(join(target, 'lib'), module, declarations);
}

/**
 * Makes two bundles without npm packages: the program, and what applications import of it. An application shares
 * `@grantd/core` with the second, so that each class exists once. The second holds copies of the core's internal
 * modules, which the published core does not export.
 * @param packages that npm installs with it
 */
async function buildProgram(folder: string, target: string, packages: readonly string[]): Promise<void> {
  const own = ['core', 'protect'].map((name) => manifestOf(join(root, name)));
  const foreign = packages.filter((name) => !own.some((manifest) => manifest.name === name));
  await bundleProgram(folder, join(target, 'lib', 'program'), PROGRAM, foreign);
  await bundleProgram(folder, join(target, 'lib'), EMBEDDED, foreign, own.flatMap(publicSpecifiers));
  // Applications cannot import the program's other modules.
  compile(join(folder, 'tsconfig.declarations.json'), target, DECLARED_OF_PROGRAM, 'src', 'lib');
  copyPrograms(join(folder, 'bin'), join(target, 'bin'));
}

/** How to import the published entry points of a package. */
function publicSpecifiers({ name, exports = {} }: Manifest): readonly string[] {
  return Object.keys(publicEntries(exports)).map((entry) => name + entry.slice(1));
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** @param base settings of the compiler @param include files or folders of `source` */
function compile(
  base: string,
  target: string,
  include: readonly string[],
  source: string,
  output: string,
): void {
  const project = join(target, 'tsconfig.json');
  const settings = { extends: base, compilerOptions: { rootDir: source, outDir: output }, include };
  writeFileSync(project, JSON.stringify(settings));
  const { status } = spawnSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${target} does not compile with ${base}`);
  rmSync(project);
}

/** The compiler rewrites file names in code but not in declarations, and older compilers cannot read those. */
function nameCompiledFiles(library: string): void {
  for (const file of globSync(join(library, '**', '*.d.ts'))) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/((?:from |import\()['"]\.{1,2}\/[^'"]+)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Removes the code of modules that have only types. No code imports them, and each would take a block on the disk. */
function removeModulesOfTypes(library: string): void {
  for (const file of globSync(join(library, '**', '*.js')))
    if (/^(?:\/\/.*\n)*export \{\};\s*$/.test(readFileSync(file, 'utf8'))) rmSync(file);
}

/** Removes the code that no entry point reaches: other packages of this repository use it, and have copies. */
function removeUnreachedCode(target: string, entries: readonly string[]): void {
  const library = join(target, 'lib');
  const files = globSync(join(library, '**', '*.js'));
  const code = new Map(
    files.map((file) => [relative(library, file).slice(0, -'.js'.length), readFileSync(file, 'utf8')]),
  );
  const imported = JSON.stringify(manifestOf(target).imports ?? {}).matchAll(/"\.\/lib\/([^"]+)\.js"/g);
  const roots = [...entries, ...[...imported].map(([, module = '']) => module)];
  const reached = new Set(roots.flatMap((root) => [...modulesReachedFrom(root, code)]));
  for (const module of code.keys()) if (!reached.has(module)) rmSync(join(library, `${module}.js`));
}

/** The declarations of each module, by its path in the library without extension. */
function declarationsIn(library: string): ReadonlyMap<string, string> {
  const files = globSync(join(library, '**', '*.d.ts'));
  return new Map(
    files.map((file) => [relative(library, file).slice(0, -'.d.ts'.length), readFileSync(file, 'utf8')]),
  );
}

function replaceDeclarations(library: string, declarations: ReadonlyMap<string, string>): void {
  for (const file of globSync(join(library, '**', '*.d.ts'))) {
    const text = declarations.get(relative(library, file).slice(0, -'.d.ts'.length));
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text);
  }
}

/** Removes the documentation from code whose published declarations have it too. */
function removeRepeatedDocs(library: string): void {
  const docs = /^ *\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/gm;
  for (const declarations of globSync(join(library, '**', '*.d.ts'))) {
    const file = declarations.replace(/\.d\.ts$/, '.js');
    if (!existsSync(file)) continue; // types alone, or the program, which is a bundle
    const declared = new Set(readFileSync(declarations, 'utf8').match(docs));
    const code = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      code.replaceAll(docs, (text) => (declared.has(text) ? '' : text)),
    );
  }
}

/** The compiler indents by four spaces, which are a tenth of the package. Files with texts of several lines stay as they are. */
function indentByTabs(library: string): void {
  for (const file of globSync(join(library, '**', '*.{js,d.ts}'))) {
    const lines = readFileSync(file, 'utf8').split('\n');
    if (lines.some((line) => (line.match(/(?<!\\)`/g) ?? []).length % 2 === 1)) continue;
    const indented = lines.map((line) =>
      line.replace(/^(?: {4})+/, (spaces) => '\t'.repeat(spaces.length / 4)),
    );
    writeFileSync(file, indented.join('\n'));
  }
}

async function addCommonjsDoor(
  library: string,
  module: string,
  declarations: ReadonlyMap<string, string>,
): Promise<void> {
  const exported: Record<string, unknown> = await import(pathToFileURL(join(library, `${module}.js`)).href);
  const door = commonjsDoor(module, exported, declarations);
  writeFileSync(join(library, `${module}.cjs`), door.code);
  writeFileSync(join(library, `${module}.d.cts`), door.declarations);
}

function copyPrograms(source: string, target: string): void {
  cpSync(source, target, { recursive: true });
  for (const file of globSync(join(target, '*.mjs'))) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('../src/cli/run.ts', '../lib/program/run.js'));
  }
}
