import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { OLDEST_NODE, requireSupportedNode } from '../src/platform/supported_node.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The oldest version in a manifest, such as `22.18`. */
function engineOf(manifest: string): string {
  const [, version] = /^>=([\d.]+)$/.exec(JSON.parse(read(manifest)).engines.node) ?? [];
  assert.ok(version, `${manifest} has no engines of the form >=N`);
  return version;
}

/** The places of each version. `engines` of the manifest decides. */
const SAID: readonly (readonly [string, readonly (readonly [string, (version: string) => string])[]])[] = [
  [
    'package.json',
    [
      ['README.md', (version) => `You need Node ${version} or later`],
      ['CONTRIBUTING.md', (version) => `with Node ${version} or later`],
    ],
  ],
  [
    'core/package.json',
    [
      ['docs/library.md', (version) => `on Node ${version} or later, Bun, Deno`],
      ['core/README.md', (version) => `Node ${version} or later`],
      ['core/package.json', (version) => `"@types/node": ">=${version}.0"`],
      ['docs/runtimes.md', (version) => `Node ${version} and later`],
      ['docs/runtimes.md', (version) => `| library \`@grantd/core\` | ${version} |`],
      ['runtimes/node_22/package.json', (version) => `"node": "${version}.0"`],
    ],
  ],
  [
    'protect/package.json',
    [
      ['protect/README.md', (version) => `Node ${version} or later`],
      ['docs/runtimes.md', (version) => `| library \`@grantd/protect\` | ${version} |`],
    ],
  ],
  [
    'server/package.json',
    [
      ['server/README.md', (version) => `Node ${version} or later`],
      ['docs/production.md', (version) => `Node ${version} or later`],
      ['docs/runtimes.md', (version) => `| program \`grantd\` | ${version} |`],
      ['runtimes/node_24/package.json', (version) => `"node": "${version}.0"`],
    ],
  ],
];

test('every page and manifest says the Node version that engines admits', () => {
  for (const manifest of ['core/package.json', 'protect/package.json'])
    assert.equal(OLDEST_NODE, engineOf(manifest));
  for (const [manifest, places] of SAID) {
    const version = engineOf(manifest);
    for (const [path, sentence] of places)
      assert.ok(read(path).includes(sentence(version)), `${path} does not say: ${sentence(version)}`);
  }
});

test('no page names another Node version than the table', () => {
  const table = read('docs/runtimes.md');
  const pages = globSync(['*.md', '{docs,docs/tutorials,core,protect,server,examples}/*.md'], { cwd: ROOT });
  for (const page of pages)
    for (const [said, version] of read(page).matchAll(/\bNode (\d+(?:\.\d+)?) or later/g))
      assert.ok(table.includes(`| ${version} |`), `${page}: ${said}`);
});

test('a Node that is too old is refused in one sentence, and no other runtime', () => {
  for (const node of ['18.20.4', '20.20.2', '22.17.9', '21.0.0'])
    assert.throws(() => requireSupportedNode({ node }), {
      message: `grantd needs Node ${OLDEST_NODE} or later; this is Node ${node}.`,
    });
  for (const versions of [
    { node: '22.18.0' },
    { node: '22.19.1' },
    { node: '100.0.0' },
    { node: '20.0.0', bun: '1.4.5' },
    { node: '20.0.0', deno: '2.9.5' },
    {},
    undefined,
  ])
    requireSupportedNode(versions);
});

/** Node 20 has no node:sqlite. */
const WITHOUT_SQLITE = `
  process.getBuiltinModule = () => undefined;
  const resolve = (name, context, next) => {
    if (name === 'node:sqlite') throw new Error('No such built-in module: node:sqlite');
    return next(name, context);
  };
  (await import('node:module')).registerHooks({ resolve });
`;

for (const entry of [
  'core/src/index.ts',
  'core/src/adapters/node.ts',
  'core/src/storage/memory/memory_storage.ts',
  'core/src/storage/sqlite/sqlite_storage.ts',
  'protect/src/index.ts',
  'protect/src/node.ts',
]) {
  test(`importing ${entry} on an older Node fails at once`, () => {
    const url = pathToFileURL(join(ROOT, entry)).href;
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`;
    const script = `${pretend} ${WITHOUT_SQLITE} await import(${JSON.stringify(url)}).then(() => console.log('started'), (error) => console.log(error.message));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    assert.equal(stdout, `grantd needs Node ${OLDEST_NODE} or later; this is Node 20.20.2.\n`);
  });
}
