import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import type { Conditions } from './published_manifest.ts';

/** How a package of this repository imports a module of the core that the core does not publish. */
const INTERNAL = /(?<=(?:from |import\()')@grantd\/core\/internal\/([^']+)(?=')/g;

const RELATIVE = /(?:from |import )'(\.{1,2}\/[^']+)'/g;

/**
 * Copies the core's modules that a package imports as `@grantd/core/internal/…`, with everything that they import in
 * turn, into `core/` below the package's sources, and lets the package import the copies.
 * @param sources the package's sources in the folder that is published
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

/** The files below `src` that a condition of some kind leads to. */
export function filesOf(conditions: Conditions): readonly string[] {
  return Object.values(conditions).flatMap((value) =>
    typeof value === 'string' ? [value.replace(/^\.\/src\//, '')] : filesOf(value),
  );
}
