// Imports run one way, `node:` stays where it belongs, no file is part of a circle, and the program uses the
// core as a stranger would. Prints every breach; exits with 1 if there is one.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

process.chdir(dirname(import.meta.dirname));

/** From left to right: a file imports from its own layer or from those before it. */
const LAYERS = [
  'core/src/protocol/',
  'core/src/memories/',
  'core/src/storage/',
  'core/src/tokens/',
  'core/src/resource/',
  'core/src/endpoints/',
  'core/src/authorization_server_options.ts',
  'core/src/options.ts',
  'core/src/resolved_options.ts',
  'core/src/authorization_server.ts',
  'core/src/adapters/',
  'core/src/index.ts',
];

/** Where `node:` modules may be imported. */
const NODE_ONLY = [
  'core/src/protocol/hashing/node.ts',
  'core/src/tokens/signatures/node.ts',
  'core/src/storage/sql/sqlite/',
  'core/src/adapters/node.ts',
  'core/src/adapters/node/',
];

/** What APIs use stands beside the authorization server, which does without it, and does without storage. */
const BESIDE = {
  folder: 'core/src/resource/',
  mayImport: ['core/src/protocol/', 'core/src/memories/', 'core/src/tokens/', 'core/src/resource/'],
};

/** What the core may depend on. */
const CORE_PACKAGES = new Set(['jose', '#hashing', '#signatures']);

const breaches: string[] = [];
const imports = new Map<string, readonly string[]>();

for (const file of globSync(['core/src/**/*.ts', 'server/src/**/*.ts']).sort()) {
  const specifiers = [
    ...readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s(?:[^'";]*?from\s)?'([^']+)'/gm),
  ];
  const local: string[] = [];
  for (const [, specifier = ''] of specifiers) {
    if (!specifier.startsWith('.')) {
      checkPackage(file, specifier);
      continue;
    }
    const target = normalize(join(dirname(file), specifier));
    local.push(target);
    if (file.startsWith('core/') !== target.startsWith('core/')) {
      breaches.push(`${file} imports ${target} by path; use the published entry points`);
    }
    if (file.startsWith('core/') && layerOf(target) > layerOf(file)) {
      breaches.push(`${file} imports ${target}, which is to its right`);
    }
    if (file.startsWith('core/') && !isBesideKept(file, target)) {
      breaches.push(`${file} imports ${target}; ${BESIDE.folder} stands beside the authorization server`);
    }
  }
  imports.set(file, local);
}

for (const file of imports.keys()) {
  if (reachableFrom(file).has(file)) breaches.push(`${file} is part of a circle of imports`);
}

const index = readFileSync('core/src/index.ts', 'utf8');
if (/\/(memory|sql|kit|adapters)\//.test(index))
  breaches.push('core/src/index.ts exports a store, the kit or an adapter');

for (const breach of new Set(breaches)) console.error(breach);
process.exit(breaches.length === 0 ? 0 : 1);

function checkPackage(file: string, specifier: string): void {
  if (!file.startsWith('core/')) return;
  const isNode = specifier.startsWith('node:');
  if (isNode && !NODE_ONLY.some((place) => file.startsWith(place)))
    breaches.push(`${file} imports ${specifier}`);
  if (!isNode && !CORE_PACKAGES.has(specifier)) breaches.push(`${file} depends on ${specifier}`);
}

function isBesideKept(file: string, target: string): boolean {
  if (file.startsWith(BESIDE.folder)) return BESIDE.mayImport.some((folder) => target.startsWith(folder));
  return !target.startsWith(BESIDE.folder);
}

function layerOf(file: string): number {
  const layer = LAYERS.findIndex((prefix) => file.startsWith(prefix));
  if (layer === -1) breaches.push(`${file} is in no layer`);
  return layer;
}

/** Every file that can be reached from `file`; a file that reaches itself is part of a circle. */
function reachableFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...(imports.get(file) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(imports.get(next) ?? []));
  }
  return reached;
}
