// Checks the direction of imports, and that no file reads the clock of the system itself. A file imports from its own layer or an earlier one. Entries of one layer do not
// import each other. No imports close a circle of files or of folders. `node:` modules stay in the files made for Node.
// Protect carries no part of the server. The program uses the core through its published entry points, and its files of
// databases also through those parts of the core's stores that are listed here. Prints each breach and exits with 1 if
// there is one. `check_layers.ts FOLDER` checks another tree (ADR 58, ADR 59, ADR 60).
//
// A file of more than 600 lines, also a test, says why in its first comment: `// Long: …`.
//
// Also reads SQL. Only `core/src/storage/` and `server/src/data/` have any. The program's SQL names no table of the
// library, and the library's none of the program. Only the file that states the columns of a table inserts its rows.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

process.chdir(process.argv[2] ?? dirname(import.meta.dirname));

/** A row is a layer, the lowest first. Its entries are files or folders. */
type Layers = readonly (readonly string[])[];

const LAYERS: Readonly<Record<string, Layers>> = {
  'core/src/': [
    ['platform/'],
    ['http/'],
    ['protocol/'],
    ['crypto/'],
    ['storage/contract.ts', 'storage/columns.ts', 'storage/faults.ts', 'storage/migrations.ts'],
    ['storage/issuing.ts', 'storage/client_record.ts', 'storage/groups.ts', 'storage/host_records.ts'],
    ['storage/host_storage.ts', 'storage/sweep.ts', 'storage/remembered_answers.ts'],
    ['storage/statements.ts'],
    ['storage/memory/', 'storage/sqlite/', 'storage/postgres/', 'storage/kit/'],
    ['tokens/'],
    ['previous_server/', 'clients/'],
    ['confirmation/'],
    ['request/'],
    [
      'introspection/',
      'revocation/',
      'userinfo/',
      'token/',
      'authorization/',
      'registration/',
      'logout/',
      'discovery/',
      'operator/',
    ],
    // The grant of devices joins the token endpoint and what users approve (ADR 171).
    ['device/', 'exchange/', 'trust/'],
    ['options/'],
    ['server/'],
    ['adapters/'],
    ['index.ts'],
  ],
  'protect/src/': [
    ['verified_access_token.ts', 'issuer_metadata.ts', 'introspection_credentials.ts', 'ending_table.ts'],
    ['dpop.ts', 'step_up.ts', 'resource_metadata.ts', 'ending_feed.ts'],
    [
      'access_token_verifier.ts',
      'access_token_introspector.ts',
      'embedded_access_tokens.ts',
      'protection.ts',
    ],
    ['access_token_follower.ts'],
    ['node.ts', 'fetch.ts', 'h3.ts', 'hono.ts', 'koa.ts'],
    ['fastify.ts', 'nest.ts'],
    ['index.ts'],
  ],
  'server/src/': [
    ['config/'],
    ['log/'],
    ['limits/'],
    ['data/'],
    ['access/'],
    ['instance/'],
    ['monitoring/'],
    ['directory/'],
    ['people/'],
    ['texts/'],
    ['admin/'],
    ['pages/browser/'],
    ['pages/drawing/'],
    ['pages/steps/'],
    [
      'pages/account/',
      'pages/authorize/',
      'pages/consent/',
      'pages/device/',
      'pages/home/',
      'pages/logout/',
      'pages/providers/',
      'pages/recovery/',
      'pages/sign_in/',
      'console/',
    ],
    ['pages/pages.ts'],
    ['http/', 'follow/'],
    ['gateways/'],
    ['mail/'],
    ['serve/'],
    ['embed.ts'],
    ['cli/'],
  ],
  'server/demo/': [['demo.ts']],
};

/** Slices see the storage contract, never a store. */
const CONTRACT_ONLY = 'core/src/storage/contract.ts';

/** Files that may import `node:` modules. */
const NODE_ONLY = [
  'core/src/crypto/node.ts',
  'core/src/storage/sqlite/',
  'core/src/adapters/node.ts',
  'core/src/adapters/node_exchange.ts',
  'core/src/adapters/document_fetcher.ts',
];

/** Dependencies of the packages that run on every runtime. */
const PACKAGES: ReadonlySet<string> = new Set([
  'jose',
  '#crypto',
  '@cfworker/json-schema',
  '@peculiar/asn1-schema',
  '@peculiar/asn1-x509',
]);

/** Loads twice as many files as the server needs at its start. Types load none. */
const ALL_OF_JOSE = /^import (?!type )[^;]*from 'jose';/m;

/** How protect and the program import unpublished modules of the core. The build copies them into their packages. */
const INTERNAL = '@grantd/core/internal/';

/** The files of the core that protect's package may hold: nothing of an authorization server. */
const CARRIED = [
  'core/src/platform/supported_node.ts',
  'core/src/platform/environment.ts',
  'core/src/platform/cache.ts',
  'core/src/crypto/',
  'core/src/http/',
  'core/src/protocol/option_kinds.ts',
  'core/src/protocol/claims.ts',
  'core/src/protocol/client_metadata.ts',
  'core/src/tokens/jwt.ts',
  'core/src/tokens/public_keys.ts',
  'core/src/confirmation/dpop_proof.ts',
];

/** The files of the core that `embed` may hold beside its library, as a second copy: they keep no state in their modules. */
const OF_STORES =
  /^(?:platform\/cache|storage\/(?:columns|migrations|statements)|storage\/sqlite\/(?:connection|export|files|import|queues|schema)|storage\/postgres\/(?:connections|export|import|migrate|schema))$/;

/** The sentences about reason codes, as a copy too. */
const OF_TEXTS = 'http/errors';

/** The folders whose files have SQL. The first one's migrations create the tables of the library. */
const OF_LIBRARY = 'core/src/storage/';
const OF_PROGRAM = 'server/src/data/';

/** SQL that creates a table, and SQL that names one. Keywords are in upper case, and tables in lower case. */
const CREATES_TABLE = /\bCREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?:grantd\.)?(\w+) (?:\(|AS\b)/g;
const NAMES_TABLE =
  /(?:\bgrantd\.|\b(?:FROM|JOIN|INTO|UPDATE|ON|TABLE|TABLE IF (?:NOT )?EXISTS) (?:grantd\.)?)([a-z_]+)\b(?!\()/g;
const INSERTS_ROW = /\bINSERT INTO (?:grantd\.)?([a-z_]+)/g;

/** Where the columns of a table of the program are stated. */
const STATES_COLUMNS = /\btable\(\s*'([a-z_]+)'/g;

const COMMENT_LINE = /^ *(?:\/?\*|\/\/).*$/gm;

/** In code, not in comments. `Date.now` without a call is the default of a clock that can be passed in. */
const READS_CLOCK = /^(?! *(?:\/?\*|\/\/)).*(?:\bDate\.now\(\)|\bnew Date\(\))/m;

const LONGEST = 600;

const GENERATED = /[/\\](?:generated|dist|lib)[/\\]|\.(?:generated|d)\.ts$/;

const WRITTEN = ['bench', 'core', 'examples', 'protect', 'reliability', 'scripts', 'server', 'site'].map(
  (folder) => `${folder}/**/*.{ts,css}`,
);

const breaches = new Set<string>();
const imports = new Map<string, readonly string[]>();

for (const file of globSync(Object.keys(LAYERS).map((root) => `${root}**/*.ts`)).sort()) {
  placeOf(file);
  const targets: string[] = [];
  const text = readFileSync(file, 'utf8');
  if (READS_CLOCK.test(text)) breaches.add(`${file} reads the clock itself; pass a clock in`);
  if (!file.startsWith('protect/') && ALL_OF_JOSE.test(text))
    breaches.add(`${file} imports all of jose; import only its parts, such as jose/base64url`);
  for (const specifier of specifiersIn(text)) {
    if (specifier.startsWith('.')) targets.push(normalize(join(dirname(file), specifier)));
    else checkPackage(file, specifier);
  }
  for (const target of targets) checkImport(file, target);
  imports.set(file, targets);
}
reportCircles('file', imports);
reportCircles('folder', byFolder());
checkCarried();
checkSql();
checkLengths();

const index = readFileSync('core/src/index.ts', 'utf8');
if (/\/(memory|sqlite|postgres|kit|adapters)\//.test(index))
  breaches.add('core/src/index.ts exports a store, the kit or an adapter');

for (const breach of breaches) console.error(breach);
process.exit(breaches.size === 0 ? 0 : 1);

function checkLengths(): void {
  for (const file of globSync(WRITTEN, { exclude: ['**/node_modules'] }).sort()) {
    const lines = readFileSync(file, 'utf8').split('\n');
    const code = lines.findIndex((line) => !/^(?:#!|\/\/|\/?\*| \*|$)/.test(line));
    const hasReason = lines.slice(0, code).some((line) => line.startsWith('// Long: '));
    if (lines.length - 1 > LONGEST && !GENERATED.test(file) && !hasReason)
      breaches.add(`${file} has ${lines.length - 1} lines; split it, or say why not: // Long: …`);
  }
}

function specifiersIn(text: string): readonly string[] {
  const found = text.matchAll(/^(?:import|export)\s(?:[^'";]*?from\s)?'([^']+)'/gm);
  return [...found].map(([, specifier = '']) => specifier);
}

function checkImport(file: string, target: string): void {
  const root = rootOf(file);
  if (root !== rootOf(target)) {
    // The demo lies beside the program, which loads it for `serve --demo` alone.
    const isOfProgram = root === 'server/demo/' && target.startsWith('server/src/');
    if (!isOfProgram && !target.endsWith('package.json'))
      breaches.add(`${file} imports ${target} by path; use the published entry points`);
    return;
  }
  const [from, to] = [placeOf(file), placeOf(target)];
  if (from === undefined || to === undefined) return;
  if (to.layer > from.layer) breaches.add(`${file} imports ${target}, which is in a later layer`);
  if (to.layer === from.layer && to.entry !== from.entry)
    breaches.add(`${file} imports ${target}, which is in another slice of its layer`);
  const isSlice = (LAYERS[root]?.[from.layer]?.length ?? 0) > 4 && root === 'core/src/';
  if (isSlice && from.layer > 4 && target.startsWith('core/src/storage/') && target !== CONTRACT_ONLY)
    breaches.add(`${file} imports ${target}; a slice knows only ${CONTRACT_ONLY}`);
}

function checkPackage(file: string, specifier: string): void {
  const isInternal = specifier.startsWith(INTERNAL);
  const module = specifier.slice(INTERNAL.length);
  const isCopied = file.startsWith('server/src/data/')
    ? OF_STORES.test(module)
    : file.startsWith('server/src/texts/') && module === OF_TEXTS;
  if (isInternal && !file.startsWith('protect/') && !isCopied) breaches.add(`${file} imports ${specifier}`);
  if (isInternal || file.startsWith('server/')) return;
  const isNode = specifier.startsWith('node:');
  if (isNode && !NODE_ONLY.some((place) => file.startsWith(place)))
    breaches.add(`${file} imports ${specifier}`);
  const name = specifier.startsWith('jose/') ? 'jose' : specifier;
  if (!isNode && !PACKAGES.has(name)) breaches.add(`${file} depends on ${specifier}`);
}

/** What protect imports of the core, and what that imports in turn. */
function checkCarried(): void {
  const reachedBy = new Map<string, string>();
  for (const file of globSync('protect/src/**/*.ts').sort()) {
    for (const specifier of specifiersIn(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith(INTERNAL))
        reachedBy.set(`core/src/${specifier.slice(INTERNAL.length)}.ts`, file);
    }
  }
  for (const [file, importer] of reachedBy) {
    if (!CARRIED.some((place) => file.startsWith(place)))
      breaches.add(`${importer} imports ${file}, which protect may not carry`);
    for (const target of imports.get(file) ?? []) if (!reachedBy.has(target)) reachedBy.set(target, file);
  }
}

function checkSql(): void {
  const sources = new Map<string, string>();
  for (const file of imports.keys())
    sources.set(file, readFileSync(file, 'utf8').replaceAll(COMMENT_LINE, ''));
  const tablesOf = (folder: string): ReadonlySet<string> => {
    const texts = [...sources].filter(([file]) => file.startsWith(folder)).map(([, text]) => text);
    return new Set(texts.flatMap((text) => namesIn(text, CREATES_TABLE)));
  };
  const [ofLibrary, ofProgram] = [tablesOf(OF_LIBRARY), tablesOf(OF_PROGRAM)];
  const statedIn = new Map<string, string>();
  for (const [file, text] of sources)
    for (const name of namesIn(text, STATES_COLUMNS)) statedIn.set(name, file);
  for (const [file, text] of sources) {
    const named = namesIn(text, NAMES_TABLE).filter((name) => ofLibrary.has(name) || ofProgram.has(name));
    const place = [OF_LIBRARY, OF_PROGRAM].find((folder) => file.startsWith(folder));
    const others = place === OF_LIBRARY ? ofProgram : ofLibrary;
    for (const name of named) {
      if (place === undefined)
        breaches.add(`${file} has SQL on ${name}; only ${OF_LIBRARY} and ${OF_PROGRAM} have any`);
      else if (others.has(name))
        breaches.add(
          `${file} has SQL on ${name}, a table of the ${place === OF_LIBRARY ? 'program' : 'library'}`,
        );
    }
    for (const name of namesIn(text, INSERTS_ROW)) {
      const owner = statedIn.get(name);
      if (place === OF_PROGRAM && owner !== undefined && owner !== file)
        breaches.add(`${file} inserts rows of ${name}, whose columns ${owner} states`);
    }
  }
}

function namesIn(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, name = '']) => name);
}

function rootOf(file: string): string {
  return Object.keys(LAYERS).find((root) => file.startsWith(root)) ?? '';
}

/** The layer of a file. A file without a layer is a breach. */
function placeOf(file: string): { readonly layer: number; readonly entry: string } | undefined {
  const root = rootOf(file);
  for (const [layer, entries] of (LAYERS[root] ?? []).entries()) {
    const entry = entries.find((entry) =>
      entry.endsWith('/') ? file.startsWith(root + entry) : file === root + entry,
    );
    if (entry !== undefined) return { layer, entry };
  }
  breaches.add(`${file} is in no layer`);
  return undefined;
}

/** The imports between folders. A file directly below `src` counts as a folder of its own. */
function byFolder(): ReadonlyMap<string, readonly string[]> {
  const folderOf = (file: string) => (dirname(file).endsWith('/src') ? file : dirname(file));
  const folders = new Map<string, string[]>();
  for (const [file, targets] of imports) {
    const from = folderOf(file);
    const others = targets.map(folderOf).filter((folder) => folder !== from);
    folders.set(from, [...(folders.get(from) ?? []), ...others]);
  }
  return folders;
}

function reportCircles(what: string, graph: ReadonlyMap<string, readonly string[]>): void {
  for (const start of graph.keys()) {
    const reached = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (reached.has(next)) continue;
      reached.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    if (reached.has(start)) breaches.add(`${start} is part of a circle of imports between ${what}s`);
  }
}
