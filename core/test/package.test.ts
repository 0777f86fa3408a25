// Uses the packages as npm would publish them. Takes about 25 seconds of one core.
// Begins early: it compiles consumers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { publint } from 'publint';
import { publicEntries } from '../../scripts/packaging/published_manifest.ts';
import { installedLibraries, packedPackages } from './harness/package/archives.ts';
import { bundled } from './harness/package/bundle.ts';
import { consumerProgram } from './harness/package/consumer_program.ts';
import { type Archive, ROOT } from './harness/package/packed.ts';
import { run } from './harness/package/run.ts';
import { compiled, linkNodeTypes, WITHOUT_NODE } from './harness/package/typed_consumer.ts';

/** The consumers' new RSA keys cost next to nothing. */
const CHEAP_KEYS = pathToFileURL(join(ROOT, 'server', 'test', 'harness', 'cheap_keys.mjs')).href;

const ENTRY_POINTS = ['core', 'protect'].flatMap((name) =>
  Object.keys(publicEntries(manifestOf(join(ROOT, name)).exports)).map(
    (entry) => `@grantd/${name}${entry.slice(1)}`,
  ),
);

/** The oldest supported version, one in between, and the pinned one. */
const NODES = [...['node_22', 'node_24'].map((name) => join(ROOT, 'runtimes', name)), ROOT].map((place) => ({
  version: String(manifestOf(place).devDependencies.node),
  node: join(place, 'node_modules', 'node', 'bin', 'node'),
}));

describe('the package', () => {
  const archives = packedPackages();
  const folder = installedLibraries(archives);
  linkNodeTypes(folder);

  test('npm publishes nothing but compiled code, declarations, sources, manifest, licence, description and changelog', () => {
    const described = ['LICENSE', 'README.md', 'lib', 'package.json', 'src'];
    for (const [name, archive, contents] of [
      ['core', archives.core, described],
      ['protect', archives.protect, described],
      ['server', archives.program, ['LICENSE', 'README.md', 'bin', 'lib', 'package.json']],
    ] as const) {
      // The first release writes it.
      const changelog = existsSync(join(ROOT, name, 'CHANGELOG.md')) ? ['CHANGELOG.md'] : [];
      assert.deepEqual(topLevel(archive), [...contents, ...changelog].sort());
    }
  });

  test('the oldest Node that the package is for is among those that run it', () => {
    const oldest = manifestOf(join(ROOT, 'core')).engines.node;
    assert.ok(
      NODES.some(({ version }) => `>=${version}` === `${oldest}.0`),
      oldest,
    );
  });

  test('publint finds nothing to say', async () => {
    for (const { file } of [archives.core, archives.protect, archives.program]) {
      const tarball = new Uint8Array(readFileSync(file)).buffer;
      assert.deepEqual((await publint({ pack: { tarball }, strict: true })).messages, []);
    }
  });

  for (const name of ['core', 'protect'] as const) {
    test(`the types of ${name} are those of the code in every way to resolve them`, () => {
      const attw = join(ROOT, 'node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js');
      // Node 10 ignores `exports` and cannot run the package. TypeScript 7 no longer supports its resolution.
      const { stdout } = run(
        process.execPath,
        [attw, archives[name].file, '--profile', 'node16', '--format', 'json'],
        folder,
      );
      const { analysis }: { analysis: { problems: readonly { kind: string; resolutionKind?: string }[] } } =
        JSON.parse(stdout);
      assert.deepEqual(
        analysis.problems.filter(({ resolutionKind }) => resolutionKind !== 'node10'),
        [],
      );
    });
  }

  for (const [module, moduleResolution] of [
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    test(`a strict consumer compiles with every entry point, resolved as by ${moduleResolution}`, () => {
      const ended = compiled(folder, ENTRY_POINTS, { module, moduleResolution }, ['node']);
      assert.deepEqual(ended, { status: 0, stdout: '', stderr: '' });
    });
  }

  test('what needs no Node needs no types of Node', () => {
    const elsewhere = installedLibraries(archives);
    const ended = compiled(elsewhere, WITHOUT_NODE, { module: 'esnext', moduleResolution: 'bundler' }, []);
    assert.deepEqual(ended, { status: 0, stdout: '', stderr: '' });
  });

  for (const { version, node } of NODES) {
    for (const system of ['esm', 'commonjs'] as const) {
      test(`Node ${version} introspects with the installed package: ${system}, on memory and SQLite`, () => {
        const program = join(folder, system === 'esm' ? 'consumer.mjs' : 'consumer.cjs');
        writeFileSync(program, consumerProgram(system));
        const { status, stdout, stderr } = run(
          node,
          ['--import', CHEAP_KEYS, '--disable-warning=ExperimentalWarning', program],
          folder,
        );
        const answers = [
          { status: 200, active: true, client_id: 'my-service', scope: 'read' },
          { status: 200, text: '' },
          { status: 200, text: '{"active":false}' },
        ];
        assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
        assert.deepEqual(JSON.parse(stdout), { memory: answers, sqlite: answers });
      });
    }
  }

  test('a bundle of the Fetch adapter and introspection holds no store, no adapter for Node, no page, and the check of Node’s version', async (t) => {
    const { bytes, files, others } = await bundled(folder, INTROSPECTION_ALONE);
    t.diagnostic(`${bytes} bytes minified, ${files.length} files of the core`);
    assert.deepEqual(others, ['jose']);
    assert.deepEqual(
      files.filter((file) =>
        /^core\/(?:storage\/(?:memory|sqlite|postgres|kit)\/|adapters\/(?!fetch\.|fetch_exchange\.|adapter_options\.))/.test(
          file,
        ),
      ),
      [],
    );
    assert.ok(bytes < LARGEST_BUNDLE_BYTES, `${bytes} bytes`);
    assert.ok(files.includes('core/supported_node.js'), 'it refuses a Node that is too old');
  });

  test('a bundle that uses nothing holds nothing', async () => {
    const entries = ENTRY_POINTS.filter((entry) => WITHOUT_NODE.includes(entry));
    const source = entries.map((entry) => `import '${entry}';`).join('\n');
    assert.deepEqual(await bundled(folder, source), { bytes: 0, files: [], others: [] });
  });
});

function manifestOf(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The top-level files and folders of an archive. */
function topLevel({ contents }: Archive): readonly string[] {
  return [...new Set(contents.map((path) => path.split('/', 1).join()))].sort();
}

const LARGEST_BUNDLE_BYTES = 250_000;

const INTROSPECTION_ALONE = `
import { AuthorizationServer } from '@grantd/core';
import { handler } from '@grantd/core/fetch';
export default (options) => {
  const server = new AuthorizationServer(options);
  return handler((request) => server.introspect(request));
};
`;
