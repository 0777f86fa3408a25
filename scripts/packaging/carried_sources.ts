import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import type { Conditions } from './published_manifest.ts';

/** How a package of this repository imports an unpublished module of the core. */
const INTERNAL = /(?<=(?:from |import\()')@grantd\/core\/internal\/([^']+)(?=')/g;

const RELATIVE = /(?:from |import )'(\.{1,2}\/[^']+)'/g;

/**
 * Copies the core modules that a package imports as `@grantd/core/internal/…`, with all their imports, into `core/`
 * below the package's sources, and rewrites the imports.
 * @param sources the package's sources in the published folder
 * @param core the core's `src`
 * @param conditional modules that the package reaches by its `imports`, by file below `src`
 */
export function carrySources(sources: string, core: string, conditional: readonly string[]): void {
  const carried = new Set(conditional);
  for (const path of globSync('**/*.ts', { cwd: sources })) {
    const file = join(sources, path);
    const text = readFileSync(file, 'utf8').replace(INTERNAL, (_, module: string) => {
      carried.add(`${module}.ts`);
      const target = relative(dirname(path), join('core', `${module}.ts`)).replaceAll('\\', '/');
      return target.startsWith('.') ? target : `./${target}`;
    });
    writeFileSync(file, text);
  }
  for (const path of carried) {
    const target = join(sources, 'core', path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(core, path), target);
    for (const [, specifier = ''] of readFileSync(target, 'utf8').matchAll(RELATIVE))
      carried.add(posix.join(posix.dirname(path), specifier));
  }
}

/** The files below `src` for one kind of condition. */
export function filesOf(conditions: Conditions): readonly string[] {
  return Object.values(conditions).flatMap((value) =>
    typeof value === 'string' ? [value.replace(/^\.\/src\//, '')] : filesOf(value),
  );
}
