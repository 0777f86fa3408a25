import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { WORKER_ENTRIES } from './workerd.ts';

const TESTS = dirname(import.meta.dirname);
const INSIDE = join(import.meta.dirname, 'inside');

/** In addition to the spec suites: the adapters for every runtime in their hosts. */
const FURTHER = /^fetch_hosts\.test\.ts$/;

/** An API that checks tokens. */
const PROTECT = ['dpop', 'introspection', 'protection', 'verifier'].map((name) =>
  join(TESTS, '..', '..', 'protect', 'test', `${name}.test.ts`),
);

/** Every suite. `npm run test:runtimes` runs them on each runtime. */
const ALL_SUITES: readonly string[] = [
  ...globSync(join(TESTS, '*.test.ts')).filter(isForRuntimes).sort(),
  ...PROTECT,
];

/**
 * The suites that use what a runtime may implement differently. The others only call code that these run too, so
 * `npm test` runs them on the pinned Node alone.
 */
const ABOUT_RUNTIMES = new Set([
  // Adapters: headers, streams, bodies that break off, and errors.
  ...['fetch_hosts', 'protection'],
  // Hashes, secrets, headers, and X.509 certificates.
  ...['rfc6749_client_authentication', 'rfc8705_client_authentication'],
  // Signatures with each algorithm, HMAC and encryption.
  ...['verifier', 'dpop', 'oidc_core_9_client_secret_jwt', 'oidc_core_10_2_encrypted_id_token'],
  ...['rfc9701_introspection_jwt', 'oidc_core_5_3_2_userinfo_jwt'],
  // Each endpoint, by HTTP and on the SQLite store.
  ...['rfc8414_metadata', 'rfc6749_authorization', 'rfc9126_pushed_requests', 'rfc6749_authorization_code'],
  ...['rfc6749_client_credentials', 'rfc7009_revocation', 'rfc7592_client_configuration'],
  ...['oidc_rp_initiated_logout'],
  // The runtime's own fetch.
  ...['introspection'],
]);

/** The suites for each runtime. */
export const SUITES: readonly string[] =
  process.env.TEST_EVERY_PAIR === 'yes'
    ? ALL_SUITES
    : ALL_SUITES.filter((suite) => ABOUT_RUNTIMES.has(basename(suite, '.test.ts')));

function isForRuntimes(file: string): boolean {
  const name = basename(file);
  return (
    /^(rfc\d|oidc_)/.test(name) || FURTHER.test(name) || /^specification\(/m.test(readFileSync(file, 'utf8'))
  );
}

type Replacements = Readonly<Record<string, string>>;

/** Replacements on another runtime for a module or a test file: a file of `inside`, or a module of a Worker. */
const REPLACED: Replacements = {
  'node:test': 'node_test.ts',
  'harness/hosts/fetch_hosts.ts': 'web_hosts.ts',
  '../../protect/test/harness/protected_hosts.ts': 'web_hosts.ts',
  'harness/postgres_databases.ts': 'no_postgres.ts',
  'harness/postgres_installation.ts': 'no_postgres.ts',
  'harness/postgres_store.ts': 'no_postgres.ts',
};

const WITH_NODE: Replacements = { ...REPLACED, 'harness/places.ts': 'node_places.ts' };

const WITHOUT_NODE: Replacements = {
  ...REPLACED,
  'harness/places.ts': 'places.ts',
  'harness/remote_site.ts': 'no_node.ts',
  'harness/transports/node.ts': 'no_node.ts',
  'node:assert/strict': 'assert.ts',
  'node:fs': 'no_node.ts',
  'node:os': 'no_node.ts',
  'node:path': 'no_node.ts',
  ...Object.fromEntries(WORKER_ENTRIES.map(({ in: entry, out }) => [entry, `./${out}.mjs`])),
  '@grantd/core/node': 'no_node.ts',
  '@grantd/core/sqlite': 'no_node.ts',
};

interface Bundled {
  readonly suites?: readonly string[];
  /** Whether the runtime has Node's modules. */
  readonly hasNode: boolean;
  /** The places of the suites. Default: by the runtime's modules. */
  readonly places?: 'places.ts' | 'node_places.ts';
  /** The last lines of the bundle, which can use `declareAll`, `declaredTitles` and `runDeclared`. */
  readonly last: string;
}

/** Bundles suites into one file of a host folder. The packages stay outside, for the runtime to resolve. */
export async function bundleSuites(folder: string, file: string, bundled: Bundled): Promise<void> {
  const { suites = SUITES, hasNode, places, last } = bundled;
  const replaced = hasNode ? WITH_NODE : WITHOUT_NODE;
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
    external: [
      'node:*',
      '@grantd/core',
      '@grantd/core/*',
      '@grantd/protect',
      '@grantd/protect/*',
      ...(hasNode ? ['jose', 'oauth4webapi'] : []),
    ],
    // Set by the test run, because some runtimes have no environment.
    define: { 'process.env.TEST_EVERY_PAIR': JSON.stringify(process.env.TEST_EVERY_PAIR ?? '') },
    inject: hasNode ? [] : [join(INSIDE, 'buffer.ts')],
    plugins: [replacing({ ...replaced, ...(places !== undefined && { 'harness/places.ts': places }) })],
    logLevel: 'error',
  });
}

function replacing(replaced: Replacements): Plugin {
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
