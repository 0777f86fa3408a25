// Uses the packages as npm would publish them. Takes about 25 seconds of one core.
// Begins early: it compiles consumers.
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { publint } from 'publint';
import { publicEntries } from '../../scripts/packaging/published_manifest.ts';
import { newCertificate } from './harness/certificates.ts';
import { installedLibraries, packedPackages } from './harness/package/archives.ts';
import { bundled } from './harness/package/bundle.ts';
import { certificateProgram, consumerProgram } from './harness/package/consumer_program.ts';
import {
  type Archive,
  CERTIFICATE_PACKAGES,
  copyCertificatePackages,
  ROOT,
} from './harness/package/packed.ts';
import { type Ended, run } from './harness/package/run.ts';
import {
  type Compilation,
  compiled,
  declarationsRead,
  linkNodeTypes,
  OLDEST_COMPILER,
  WITHOUT_NODE,
} from './harness/package/typed_consumer.ts';

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
  const compiledAs = (compilation: Compilation) => compiled(folder, ENTRY_POINTS, compilation, ['node']);
  let byNodenext: Ended | undefined;

  test('npm publishes nothing but compiled code, declarations, manifest, licence and description', () => {
    const described = ['LICENSE', 'README.md', 'lib', 'package.json'];
    for (const [archive, contents] of [
      [archives.core, described],
      [archives.protect, described],
      [archives.program, ['LICENSE', 'README.md', 'bin', 'lib', 'package.json']],
    ] as const) {
      assert.deepEqual(topLevel(archive), [...contents].sort());
    }
  });

  test('the core is small, with and without its dependencies', (t) => {
    const modules = join(folder, 'node_modules');
    const own = footprint(join(modules, '@grantd', 'core'));
    const { dependencies } = manifestOf(join(modules, '@grantd', 'core'));
    const others = Object.keys(dependencies).map((name) => footprint(join(modules, name)));
    const all = {
      files: [own, ...others].reduce((sum, { files }) => sum + files, 0),
      bytes: [own, ...others].reduce((sum, { bytes }) => sum + bytes, 0),
    };
    t.diagnostic(`the core: ${JSON.stringify(own)}; with its dependencies: ${JSON.stringify(all)}`);
    assert.ok(own.bytes < LARGEST.own.bytes && own.files < LARGEST.own.files, JSON.stringify(own));
    assert.ok(all.bytes < LARGEST.all.bytes && all.files < LARGEST.all.files, JSON.stringify(all));
  });

  test('the dependencies of the core need no packages of their own', () => {
    const { dependencies } = manifestOf(join(ROOT, 'core'));
    for (const name of Object.keys(dependencies))
      assert.deepEqual(manifestOf(join(folder, 'node_modules', name)).dependencies ?? {}, {}, name);
  });

  test('lib has only code, and the declarations that compilers read', () => {
    byNodenext = compiledAs({ module: 'nodenext', moduleResolution: 'nodenext' });
    const files = (['core', 'protect'] as const).flatMap((name) =>
      archives[name].contents.filter((path) => path.startsWith('lib/')).map((path) => `${name}/${path}`),
    );
    assert.deepEqual(files.filter((path) => !/\.c?js$/.test(path)).sort(), declarationsRead(folder));
    const texts = globSync(join(folder, 'node_modules', '@grantd', '*', 'lib', '**', '*.js')).map((file) =>
      readFileSync(file, 'utf8'),
    );
    assert.deepEqual(
      texts.filter((text) => /^(?:\/\/.*\s+)*export \{\};\s*$/.test(text)),
      [],
      'modules of types alone',
    );
  });

  test('an error names the line of the installed code that threw it', () => {
    const code = "import { documentOf } from '@grantd/core'; documentOf();";
    const { status, stderr } = run(process.execPath, ['--input-type=module', '-e', code], folder);
    assert.equal(status, 1);
    const [, place = '', line = ''] =
      /at documentOf \((?:file:\/\/)?([^)]*\/lib\/[^)]*\.js):(\d+):\d+\)/.exec(stderr) ?? [];
    const text = readFileSync(place, 'utf8').split('\n');
    const above = text
      .slice(0, Number(line))
      .findLast((each) => /^(?:export )?(?:async )?function /.test(each));
    assert.match(above ?? '', /^export function documentOf\(/);
  });

  for (const system of ['esm', 'commonjs'] as const) {
    const readNames = async (place: string) => {
      const { certificate } = await newCertificate({ names: [{ type: 'dns', value: 'client.example' }] });
      const program = join(place, system === 'esm' ? 'reader.mjs' : 'reader.cjs');
      writeFileSync(program, certificateProgram(system, new Uint8Array(certificate.rawData)));
      const { status, stdout, stderr } = run(process.execPath, [program], place);
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
      return JSON.parse(stdout);
    };

    test(`without its optional packages, the certificate reader names them: ${system}`, async () => {
      const { message, ...error } = await readNames(installedLibraries(archives));
      assert.deepEqual(error, { name: 'ConfigurationError', option: 'clientCertificates' });
      assert.match(
        message,
        /^clientCertificates: expected the packages @peculiar\/asn1-schema and @peculiar\/asn1-x509: run "npm install /,
      );
      assert.match(message, /Cannot find package '@peculiar\/asn1-schema'/);
      for (const name of CERTIFICATE_PACKAGES) {
        const major = /\d+/.exec(manifestOf(join(ROOT, 'core')).peerDependencies[name])?.[0];
        assert.ok(message.includes(` ${name}@${major}`), message);
      }
    });

    test(`with its optional packages, the certificate reader reads: ${system}`, async () => {
      const place = installedLibraries(archives);
      copyCertificatePackages(place);
      assert.deepEqual(await readNames(place), { subject: [], names: [{ dNSName: 'client.example' }] });
    });
  }

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
      const earlier = module === 'nodenext' ? byNodenext : undefined;
      const ended = earlier ?? compiledAs({ module, moduleResolution });
      assert.deepEqual(ended, { status: 0, stdout: '', stderr: '' });
    });
  }

  test('the oldest TypeScript that the READMEs name compiles a strict consumer', () => {
    const { version } = manifestOf(OLDEST_COMPILER);
    for (const name of ['core', 'protect']) {
      const [, named] =
        /^\| TypeScript \| (\d+\.\d+) or later/m.exec(readFileSync(join(ROOT, name, 'README.md'), 'utf8')) ??
        [];
      assert.ok(version.startsWith(`${named}.`), `${name}: ${named}, ${version}`);
    }
    const compilation = { module: 'nodenext', moduleResolution: 'nodenext' } as const;
    const ended = compiled(folder, ENTRY_POINTS, compilation, ['node'], OLDEST_COMPILER);
    assert.deepEqual(ended, { status: 0, stdout: '', stderr: '' });
  });

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
    assert.ok(files.includes('core/platform/supported_node.js'), 'it refuses a Node that is too old');
  });

  test('a bundle that uses nothing holds nothing', async () => {
    const entries = ENTRY_POINTS.filter((entry) => WITHOUT_NODE.includes(entry));
    const source = entries.map((entry) => `import '${entry}';`).join('\n');
    const place = installedLibraries(archives);
    copyCertificatePackages(place);
    assert.deepEqual(await bundled(place, source), { bytes: 0, files: [], others: [] });
  });

  test('a bundle of the certificate reader needs its packages, and fails with their names', async () => {
    const source = `export { loadCertificateReader } from '@grantd/core/client_certificates';`;
    await assert.rejects(bundled(folder, source), (error: Error) =>
      CERTIFICATE_PACKAGES.every((name) => error.message.includes(`Could not resolve "${name}"`)),
    );
    const place = installedLibraries(archives);
    copyCertificatePackages(place);
    const { others } = await bundled(place, source);
    assert.deepEqual(
      CERTIFICATE_PACKAGES.filter((name) => !others.includes(name)),
      [],
    );
  });
});

function manifestOf(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** On a file system with blocks of 4 KiB, as `du` shows it. */
const BLOCK_BYTES = 4096;

/** Compare with `npm install` in an empty folder. Raise a bound only with a reason. */
const LARGEST = {
  own: { bytes: 2_300_000, files: 300 },
  all: { bytes: 3_700_000, files: 500 },
};

/** The files of a package, and the room that they take on a disk. */
function footprint(place: string): { readonly files: number; readonly bytes: number } {
  const files = globSync('**', { cwd: place, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizes = files.map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  const blocks = sizes.map((size) => Math.ceil(size / BLOCK_BYTES));
  return { files: files.length, bytes: blocks.reduce((sum, each) => sum + each, 0) * BLOCK_BYTES };
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
