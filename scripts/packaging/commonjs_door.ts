import { basename, posix } from 'node:path';

/** The CommonJS file for a module, and its declarations. */
interface CommonjsDoor {
  readonly code: string;
  readonly declarations: string;
}

/**
 * Makes a module available to CommonJS. `require` returns the same module as `import`, so each class and type exists
 * once. TypeScript lets CommonJS files take only types from an ES module, so each value is declared again by its type.
 * @param module the module's path, without its extension
 * @param exported what the module exports at run time
 * @param declarations of the whole package, by module: the source of the type parameters of generic classes
 * @throws {Error} if the declaration of a class is missing, or is not the only one of its name
 */
export function commonjsDoor(
  module: string,
  exported: Readonly<Record<string, unknown>>,
  declarations: ReadonlyMap<string, string>,
): CommonjsDoor {
  const reached = [...modulesReachedFrom(module, declarations)]
    .map((item) => declarations.get(item) ?? '')
    .join('\n');
  const file = `./${basename(module)}.js`;
  const lines = Object.entries(exported).flatMap(([name, value]) => {
    const constant = `export declare const ${name}: typeof imported.${name};`;
    return isClass(value) ? [constant, instanceType(name, reached)] : [constant];
  });
  return {
    code: `'use strict';\nmodule.exports = require('${file}');\n`,
    declarations: [
      `import type * as imported from '${file}' with { 'resolution-mode': 'import' };`,
      `export type * from '${file}' with { 'resolution-mode': 'import' };`,
      ...lines,
      '',
    ].join('\n'),
  };
}

function isClass(value: unknown): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

/**
 * A module and all modules to which its imports lead. A class of another entry point may have the same name.
 * @param declarations or code of the whole package, by module
 */
export function modulesReachedFrom(
  module: string,
  declarations: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const reached = new Set([module]);
  for (const item of reached) {
    const imports = (declarations.get(item) ?? '').matchAll(
      /(?:from |import |import\()['"](\.{1,2}\/[^'"]+)\.js['"]/g,
    );
    for (const [, path = ''] of imports) reached.add(posix.join(posix.dirname(item), path));
  }
  return reached;
}

/** `export type Cache<K extends Key = string> = imported.Cache<K>;`. A class can have its type in an alias. */
function instanceType(name: string, declarations: string): string {
  const found = new RegExp(
    `export (?:declare class|type) ${name}(?:<([^{=]*(?:= \\w+)?)>)?(?: extends [^{]+| implements [^{]+)? [{=]`,
    'g',
  );
  const matches = [...declarations.matchAll(found)];
  const [match] = matches;
  if (match === undefined || matches.length > 1)
    throw new Error(`of the class ${name} there are ${matches.length} declarations`);
  const parameters = (match[1] ?? '').split(',').map((parameter) => parameter.trim());
  if (parameters[0] === '') return `export type ${name} = imported.${name};`;
  const names = parameters.map((parameter) => parameter.split(' ', 1)[0]);
  const qualified = parameters.map((parameter) =>
    parameter.replace(/(?<= (?:extends|=) )[A-Z]\w*/g, 'imported.$&'),
  );
  return `export type ${name}<${qualified.join(', ')}> = imported.${name}<${names.join(', ')}>;`;
}
