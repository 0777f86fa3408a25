import { basename } from 'node:path';

/** What CommonJS requires in place of a module, and its declarations. */
export interface CommonjsDoor {
  readonly code: string;
  readonly declarations: string;
}

/**
 * A door through which CommonJS comes to the very module that others import: there is one of each class, and one type
 * of each. TypeScript lets a CommonJS file take types alone from an ECMAScript module, so each value is declared again
 * by its type.
 * @param module the module's path, without its extension
 * @param exported what the module exports at run time
 * @param declarations the declarations of the files behind it, where the parameters of its generic classes are found
 */
export function commonjsDoor(
  module: string,
  exported: Readonly<Record<string, unknown>>,
  declarations: string,
): CommonjsDoor {
  const file = `./${basename(module)}.js`;
  const lines = Object.entries(exported).flatMap(([name, value]) => {
    const constant = `export declare const ${name}: typeof imported.${name};`;
    return isClass(value) ? [constant, instanceType(name, declarations)] : [constant];
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

/** `export type Cache<K extends Key = string> = imported.Cache<K>;` */
function instanceType(name: string, declarations: string): string {
  const found = new RegExp(
    `export declare class ${name}(?:<([^{]*)>)?(?: extends [^{]+| implements [^{]+)? \\{`,
  );
  const match = found.exec(declarations);
  if (match === null) throw new Error(`the declaration of the class ${name} was not found`);
  const parameters = (match[1] ?? '').split(',').map((parameter) => parameter.trim());
  if (parameters[0] === '') return `export type ${name} = imported.${name};`;
  const names = parameters.map((parameter) => parameter.split(' ', 1)[0]);
  const qualified = parameters.map((parameter) =>
    parameter.replace(/(?<= (?:extends|=) )[A-Z]\w*/g, 'imported.$&'),
  );
  return `export type ${name}<${qualified.join(', ')}> = imported.${name}<${names.join(', ')}>;`;
}
