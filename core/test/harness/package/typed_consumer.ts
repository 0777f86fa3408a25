import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WORKER_ENTRIES } from '../../runtimes/workerd.ts';
import { linkPackage } from './archives.ts';
import { ROOT } from './packed.ts';
import { type Ended, run } from './run.ts';

const COMPILER = join(ROOT, 'node_modules', 'typescript');

/** The oldest compiler that reads our declarations. Another package brings it. */
export const OLDEST_COMPILER = join(
  ROOT,
  'node_modules',
  '@arethetypeswrong',
  'core',
  'node_modules',
  'typescript',
);

/** A host's code, with the public classes and functions as values and as types. */
const USAGE = `
const settings = {
  issuer: 'https://login.example.com',
  secret: new core.ServerSecret('a secret of thirty-two characters') instanceof core.ServerSecret ? 'x' : 'y',
  storage: memory.memoryStorage(),
} satisfies core.AuthorizationServerOptions;
export const server: core.AuthorizationServer = new core.AuthorizationServer(settings);
export const answer: (request: Request) => Promise<Response> = fetch.mount(server);
export async function isActive(token: string): Promise<boolean> {
  const result: core.IntrospectionResult = await server.introspectToken(token);
  return result.active;
}
export function isRefusal(error: unknown): error is core.OAuthError {
  return error instanceof core.OAuthError;
}
export const introspecting = fetch.mount(
  new core.AuthorizationServer({
    issuer: 'https://login.example.com',
    jwtService: core.jwtVerifier([{ algorithm: 'HS256', secret: 'a secret of thirty-two characters' }]),
    storage: {
      clients: { get: (id) => ({ id, hash: 'of its secret' }), verifySecret: (_client, secret) => secret === '' },
      tokens: {
        getByAccessToken: (key) => ({ clientId: key, scopes: 'read', expiresAt: new Date() }),
        revoke: () => {},
      },
    },
  }),
);
export class OwnRefusal extends core.StorageFault {}
export type Secret = core.ServerSecret<'my_own_use'>;
`;

/** The imports of a host on another runtime, which must not need Node's types. */
export const WITHOUT_NODE: readonly string[] = [
  ...WORKER_ENTRIES.map((entry) => entry.in),
  '@grantd/core/next',
  '@grantd/core/postgres',
];

export interface Compilation {
  readonly module: 'node16' | 'nodenext' | 'esnext';
  readonly moduleResolution: 'node16' | 'nodenext' | 'bundler';
}

/** Imports of every entry point: used ones by name, all others as a whole. */
function imports(entries: readonly string[], form: 'import' | 'require'): string {
  return entries
    .map((specifier) => {
      const name = specifier.replace(/^@grantd\/(?:core\/)?/, '').replaceAll(/\W/g, '_');
      const from =
        form === 'import'
          ? `import * as ${name} from '${specifier}'`
          : `import ${name} = require('${specifier}')`;
      return `${from};\nexport const ${name}_names: string[] = Object.keys(${name});\n`;
    })
    .join('');
}

/**
 * Compiles a consumer of these entry points, as an ES module and as both forms of CommonJS, with every type check,
 * including the package's declarations.
 * @param types the packages of `@types` that the consumer has
 * @param compiler the package TypeScript
 */
export function compiled(
  folder: string,
  entries: readonly string[],
  compilation: Compilation,
  types: readonly string[],
  compiler = COMPILER,
): Ended {
  writeFileSync(join(folder, 'module.mts'), imports(entries, 'import') + USAGE);
  writeFileSync(join(folder, 'imported.cts'), imports(entries, 'import') + USAGE);
  const files = ['module.mts', 'imported.cts'];
  if (compilation.moduleResolution !== 'bundler') {
    writeFileSync(join(folder, 'required.cts'), imports(entries, 'require') + USAGE + MIXED);
    files.push('required.cts');
  }
  const year = compiler === COMPILER ? 'es2024' : 'es2023';
  const lib = types.includes('node') ? [year] : [year, 'dom', 'dom.iterable'];
  const compilerOptions = {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'es2022',
    ...compilation,
    types,
    lib,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  return run(process.execPath, [join(compiler, 'bin', 'tsc'), '-p', folder], folder);
}

/** The declarations of our packages that `compiled` has read, by their paths in the scope `@grantd`, in order. */
export function declarationsRead(folder: string): readonly string[] {
  const { stdout } = run(
    process.execPath,
    [join(COMPILER, 'bin', 'tsc'), '-p', folder, '--listFilesOnly'],
    folder,
  );
  const read = stdout.matchAll(/\/node_modules\/@grantd\/(.+)$/gm);
  return [...read].map(([, file = '']) => file).sort();
}

/** Each class is one type: CommonJS accepts an instance that an ES module made. */
const MIXED = `
export function mounted(module: typeof import('./module.mjs', { with: { 'resolution-mode': 'import' } })) {
  return fetch.mount(module.server);
}
`;

export function linkNodeTypes(folder: string): void {
  linkPackage(folder, '@types/node');
}
