import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachedDeclarations } from '../../scripts/packaging/reached_declarations.ts';

const reached = (declarations: Record<string, string>) =>
  Object.fromEntries(reachedDeclarations(['index'], new Map(Object.entries(declarations))));

test('only the declarations are left to which an exported name of an entry point leads', () => {
  assert.deepEqual(
    reached({
      index: `import { Unused } from './unused.js';
export { type Public, make as create } from './kept/parts.js';
export {};
`,
      unused: 'export interface Unused {\n}\n',
      'kept/parts': `import type { Inner, Other } from '../inner.js';
/** Public. */
export interface Public {
    readonly inner: Inner;
}
/** Nothing leads here. */
export interface Hidden {
    readonly other: Other;
}
interface Options {
    readonly size: number;
}
/** Makes one. */
export declare function make(options: Options): import('../inner.js').Made;
`,
      inner: `export declare class Inner {
}
export type Made = /** One. */ {
    readonly one: 1;
}
/** Two. */
 | {
    readonly two: 2;
};
export interface Other {
}
`,
    }),
    {
      index: `export { type Public, make as create } from './kept/parts.js';\nexport {};\n`,
      'kept/parts': `import type { Inner } from '../inner.js';
/** Public. */
export interface Public {
    readonly inner: Inner;
}
interface Options {
    readonly size: number;
}
/** Makes one. */
export declare function make(options: Options): import('../inner.js').Made;
`,
      inner: `export declare class Inner {
}
export type Made = /** One. */ {
    readonly one: 1;
}
/** Two. */
 | {
    readonly two: 2;
};
`,
    },
  );
});

test('types of other packages are imported only if a declaration uses them', () => {
  const index = 'export declare const connect: (socket: Socket) => void;\n';
  assert.deepEqual(reached({ index: `import type { Server, Socket } from 'node:net';\n${index}` }), {
    index: `import type { Socket } from 'node:net';\n${index}`,
  });
  assert.deepEqual(reached({ index: `import type * as net from 'node:net';\n${index}` }), { index });
});

test('a form of declaration that is not known fails the build', () => {
  assert.throws(() => reached({ index: "export * from './parts.js';\n" }), {
    message: "index has an unexpected declaration: export * from './parts.js';",
  });
});
