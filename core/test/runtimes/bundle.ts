import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { build, type Plugin } from 'esbuild';
import { INSTALLED, PACKAGE_UNDER_TEST } from './package_under_test.ts';

const TESTS = dirname(import.meta.dirname);
const INSIDE = join(import.meta.dirname, 'inside');

/** The spec suites: whoever adds one adds it for each runtime. */
export const SUITES: readonly string[] = globSync(join(TESTS, '*.test.ts')).filter(isSpecification).sort();

function isSpecification(file: string): boolean {
  return /^(rfc\d|oidc_)/.test(basename(file)) || /^specification\(/m.test(readFileSync(file, 'utf8'));
}

/** What of the harness a suite meets on another runtime, in place of what needs Node. */
const REPLACED: Readonly<Record<string, string>> = {
  'node:test': 'node_test.ts',
  'harness/places.ts': 'places.ts',
  'harness/stores.ts': 'stores.ts',
};

/** And what in place of what Workers lack. */
const REPLACED_IN_WORKERS: Readonly<Record<string, string>> = {
  'node:assert/strict': 'assert.ts',
  '@grantd/core': './core.mjs',
  '@grantd/core/fetch': './fetch.mjs',
  '@grantd/core/memory': './memory.mjs',
  '@grantd/core/node': 'node_adapter.ts',
  'harness/remote_site.ts': 'remote_site.ts',
  'harness/transports/node.ts': 'node_transport.ts',
};

interface Bundled {
  readonly suites?: readonly string[];
  /** Whether the suites have to do without what Workers lack. */
  readonly inWorker?: boolean;
  /** The last lines of the bundle, in which `runDeclared`, `declaredTitles` and `declareAll` are known. */
  readonly last: string;
}

/** A folder that goes away with the test, in which the package is installed. */
export function hostFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-runtime-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules', '@grantd'), { recursive: true });
  symlinkSync(PACKAGE_UNDER_TEST, join(folder, 'node_modules', '@grantd', 'core'));
  for (const name of ['jose', 'oauth4webapi']) {
    symlinkSync(join(INSTALLED, name), join(folder, 'node_modules', name));
  }
  const dependencies = { '@grantd/core': '*', jose: '*', oauth4webapi: '*' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  return folder;
}

/** Bundles suites into one file of a host folder; the package itself stays outside, for the runtime to resolve. */
export async function bundleSuites(folder: string, file: string, bundled: Bundled): Promise<void> {
  const { suites = SUITES, inWorker = false, last } = bundled;
  const files = suites.map((suite) => {
    const name = basename(suite, '.test.ts');
    return `await declareFile(${JSON.stringify(name)}, () => import(${JSON.stringify(suite)}));`;
  });
  const contents = [
    `import { declareFile, declaredTitles, runDeclared } from 'node:test';`,
    `async function declareAll() {\n${files.join('\n')}\n}`,
    last,
  ].join('\n');
  await build({
    stdin: { contents, resolveDir: TESTS, loader: 'js' },
    outfile: join(folder, file),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2024',
    mainFields: ['module', 'main'],
    conditions: ['default'],
    external: ['node:*', '@grantd/core', '@grantd/core/*', ...(inWorker ? [] : ['jose', 'oauth4webapi'])],
    ...(inWorker && { inject: [join(INSIDE, 'buffer.ts')] }),
    plugins: [replacing({ ...REPLACED, ...(inWorker && REPLACED_IN_WORKERS) })],
    logLevel: 'error',
  });
}

function replacing(replaced: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'replacing',
    setup(building) {
      building.onResolve({ filter: /./ }, ({ path, resolveDir }) => {
        const by = replaced[path.startsWith('.') ? relative(TESTS, join(resolveDir, path)) : path];
        if (by === undefined) return undefined;
        return by.startsWith('./') ? { path: by, external: true } : { path: join(INSIDE, by) };
      });
    },
  };
}
