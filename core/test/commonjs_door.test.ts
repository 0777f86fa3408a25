import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonjsDoor } from '../../scripts/packaging/commonjs_door.ts';

/** The export of a module under a class name that other modules share. */
class Cache {}

const DECLARATIONS = new Map([
  ['index', `export type { Other } from './tokens/other.js';\nexport { Cache } from './tokens/cache.js';\n`],
  ['tokens/cache', `import { type Key } from '../key.js';\nexport declare class Cache<K extends Key> {\n}\n`],
  ['tokens/other', 'export interface Other {\n}\n'],
  ['key', 'export type Key = string;\n'],
  ['protection/protection', `export { Cache } from './cache.js';\n`],
  ['protection/cache', `export declare class Cache implements import("../key.js").Key {\n}\n`],
]);

const typesOf = (module: string, declarations: ReadonlyMap<string, string>) =>
  commonjsDoor(module, { Cache }, declarations)
    .declarations.split('\n')
    .filter((line) => line.startsWith('export type Cache'));

test('the CommonJS file of an entry point declares its own class, also if another one has a class of that name', () => {
  assert.deepEqual(typesOf('index', DECLARATIONS), [
    'export type Cache<K extends imported.Key> = imported.Cache<K>;',
  ]);
  assert.deepEqual(typesOf('protection/protection', DECLARATIONS), ['export type Cache = imported.Cache;']);
});

test('a class whose type is an alias has the parameters of the alias', () => {
  const alias = new Map(DECLARATIONS).set(
    'tokens/cache',
    'declare class Map<K extends Key> {\n}\nexport declare const Cache: typeof Map;\nexport type Cache<K extends Key = Name> = Map<K>;\n',
  );
  assert.deepEqual(typesOf('index', alias), [
    'export type Cache<K extends imported.Key = imported.Name> = imported.Cache<K>;',
  ]);
});

test('a class that is declared nowhere, or twice among what an entry point reaches, ends the build', () => {
  const without = new Map([...DECLARATIONS].filter(([module]) => module !== 'tokens/cache'));
  assert.throws(() => typesOf('index', without), /there are 0 declarations/);
  const twice = new Map(DECLARATIONS).set('key', 'export declare class Cache {\n}\n');
  assert.throws(() => typesOf('index', twice), /there are 2 declarations/);
});
