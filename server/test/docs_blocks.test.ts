// Everything that the documentation tells people to type is run by a test, or at least read by what will read it: the
// compiler, the parser of commands, the configuration. The few blocks that need what tests do not have say so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { parseAllDocuments } from 'yaml';
import { slugOf } from '../../site/addresses.ts';
import { createProgram } from '../src/cli/program.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { OPTIONS, variableOf } from '../src/config/options.ts';
import { Workbench } from './harness/program.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGES = globSync(
  ['*.md', '{docs,docs/tutorials,core,protect,server,examples,examples/*,bench,site}/*.md'],
  {
    cwd: ROOT,
    exclude: (path) => /CHANGELOG|node_modules/.test(path),
  },
).sort();

/** Tests that run the blocks of a page, or of a section of it, as printed, by the languages that they run. */
const RUN: readonly (readonly [page: string, test: string, ...languages: string[]])[] = [
  ['README.md', 'server/test/readme.test.ts', 'sh', 'console'],
  ['CONTRIBUTING.md', 'server/test/exercises.test.ts', 'ts'],
  ['docs/admin_api.md', 'server/test/admin_docs.test.ts', 'sh'],
  ['docs/jwt_bearer.md', 'server/test/jwt_bearer.test.ts', 'sh', 'console'],
  ['docs/token_exchange.md', 'server/test/client_docs.test.ts', 'sh', 'console'],
  [
    'docs/token_exchange.md#send-a-users-identity-to-another-authorization-server',
    'server/test/identity_assertions.test.ts',
    'sh',
    'console',
  ],
  ['docs/end_access.md#a-service-is-compromised', 'server/test/client_docs.test.ts', 'sh'],
  ['docs/follow.md', 'server/test/follow_page.test.ts', 'console'],
  ['docs/library.md', 'examples/test/package.test.ts', 'sh', 'console'],
  ['docs/clients.md', 'server/test/client_recipes.test.ts', 'apache'],
  ['docs/clients.md#oauth2-proxy', 'server/test/client_recipes.test.ts', 'sh', 'ini'],
  ['docs/clients.md#django-allauth', 'server/test/client_recipes.test.ts', 'sh', 'python'],
  ['docs/clients.md#gitlab', 'server/test/client_recipes.test.ts', 'sh', 'ruby'],
  ['docs/mcp.md', 'server/test/client_docs.test.ts', 'sh', 'http'],
  ['docs/mcp.md#try-it-on-your-machine', 'examples/test/mcp_server.test.ts', 'sh'],
  ['docs/personal_tokens.md', 'server/test/personal_tokens_page.test.ts', 'sh', 'console'],
  ['docs/production.md#start-with-nothing', 'server/test/postgres_start.test.ts', 'sh', 'sql'],
  ['docs/workloads.md#kubernetes', 'server/test/workloads.test.ts', 'sh', 'console'],
  ['docs/workloads.md#github-actions', 'server/test/workloads.test.ts', 'sh', 'console'],
  ['docs/tutorials/*.md', 'server/test/tutorials.test.ts', 'sh', 'js', 'ts', 'console', 'html', 'http'],
  ['docs/tutorials/command_line.md', 'examples/test/command_line.test.ts', 'sh', 'ts'],
  ['examples/README.md', 'examples/test/readme.test.ts', 'sh'],
  ['protect/README.md', 'protect/test/docs.test.ts', 'ts'],
];

/** Output, and what the build of the website draws. */
const NOT_TYPED = ['text', 'mermaid'];

/** `<!-- not run: REASON -->` above a block. */
const BLOCK =
  /(?:^ *<!-- not run: (?<reason>[^\n]+) -->\n\n?)?^(?<indent> *)```(?<language>\w*)\n(?<code>.*?)^ *```$/gms;

interface Block {
  readonly page: string;
  /** The page with the anchor of the section. */
  readonly section: string;
  /** Page and line. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
  readonly reason: string | undefined;
}

const BLOCKS: readonly Block[] = PAGES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(BLOCK)].map(({ groups = {}, index }) => {
    const { reason, indent = '', language = '', code = '' } = groups;
    const before = text.slice(0, text.indexOf('```', index));
    const line = before.split('\n').length;
    const section = `${page}#${slugOf(
      before
        .match(/^##+ .+$/gm)
        ?.at(-1)
        ?.replace(/^#+ /, '') ?? '',
    )}`;
    const place = `${page}:${line}`;
    return {
      page,
      section,
      place,
      language,
      reason,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
});

const isRun = ({ page, section, language }: Block) =>
  RUN.some(
    ([pages, , ...languages]) =>
      (section === pages || matchesGlob(page, pages)) && languages.includes(language),
  );

const checked = (...languages: readonly string[]) =>
  BLOCKS.filter((block) => languages.includes(block.language) && !isRun(block) && block.reason === undefined);

test('each block is run by a test, read by a check, or says why not', () => {
  const read = [...NOT_TYPED, 'ts', 'js', 'sh', 'console', 'json', 'yaml'];
  const others = BLOCKS.filter((block) => !read.includes(block.language) && !isRun(block));
  assert.deepEqual(
    others.filter(({ reason }) => reason === undefined).map(({ place, language }) => `${place} ${language}`),
    [],
  );
});

test('each test that runs the blocks of a page names the page', () => {
  for (const [page, file] of RUN) {
    const source = readFileSync(join(ROOT, file), 'utf8');
    const name = page.includes('*') ? 'tutorials' : page.replace(/^.*\/|#.*$/g, '');
    assert.ok(source.includes(name), `${file} does not name ${page}`);
  }
});

test('a reason stands only where it is needed', () => {
  const needless = BLOCKS.filter((block) => block.reason !== undefined && isRun(block));
  assert.deepEqual(
    needless.map(({ place }) => place),
    [],
  );
});

test('JSON and YAML of the pages can be read, and options in them are options', () => {
  const folder = new Workbench().folder();
  for (const { place, code } of checked('json')) {
    const value = JSON.parse(code);
    if (!Object.keys(value).every((name) => name in OPTIONS)) continue;
    const config = join(folder, 'grantd.json');
    writeFileSync(config, code, { mode: 0o600 });
    assert.doesNotThrow(() => readConfiguration({ config }, {}), place);
  }
  for (const { place, code } of checked('yaml'))
    for (const document of parseAllDocuments(code))
      assert.deepEqual('errors' in document ? document.errors : [], [], place);
});

const VARIABLES = new Set([
  ...Object.keys(OPTIONS).map((name) => variableOf(name as keyof typeof OPTIONS)),
  ...['GRANTD_CONFIG', 'GRANTD_ADMIN_CLIENT_ID', 'GRANTD_ADMIN_CLIENT_SECRET_FILE', 'GRANTD_CLIENT_SECRET'],
]);

/** Parts of the shell. A block with another tool is run by a test, or says why not. */
const SHELL = /^(?:cat|cd|echo|mkdir|npm|node|npx|jq|\.)$/;

test('the commands of the pages have the flags, variables and scripts that exist', async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const program = await createProgram();
  const problems: string[] = [];
  for (const { place, language, code } of checked('sh', 'console')) {
    const whole = code
      .replaceAll(/<<'?(\w+)'?\n.*?^\1$/gms, '') // here-documents
      .replaceAll(/"(?:[^"\\]|\\.)*"/gs, (quoted) => quoted.replaceAll('\n', ' '))
      .replaceAll(/\\\n\s*/g, '');
    const lines = whole.split('\n');
    const typed = language === 'console' ? lines.flatMap((line) => /^\$ (.*)/.exec(line)?.[1] ?? []) : lines;
    for (const part of typed.flatMap(commandsIn)) {
      const problem = problemOf(part, program, scripts);
      if (problem !== undefined) problems.push(`${place}: ${problem}: ${part.join(' ')}`);
    }
  }
  assert.deepEqual(problems, []);
});

const WORD = /(?<!\S)#.*$|((?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"|&;<>()])+)|(\|\|?|&&|;|[()])|[<>]+\s*\S+/g;

/** The commands of a line, as their words. */
function commandsIn(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const [, word, separator] of line.matchAll(WORD)) {
    if (separator !== undefined) commands.push([]);
    else if (word !== undefined)
      commands
        .at(-1)
        ?.push(word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"/g, (_, one, other) => one ?? other));
  }
  return commands.filter((words) => words.length > 0);
}

function problemOf(given: readonly string[], program: Command, scripts: object): string | undefined {
  const words = [...given];
  while (words[0] === 'export' || /^\w+=/.test(words[0] ?? '')) {
    const [, name = ''] = /^(\w+)=/.exec(words.shift() ?? '') ?? [];
    if (name.startsWith('GRANTD_') && !VARIABLES.has(name)) return `there is no variable ${name}`;
  }
  const [tool = '', ...rest] = words;
  if (tool === '') return undefined;
  const at = words.findIndex((word) => /^(?:\.\/)?grantd(?:-admin)?$/.test(word));
  if (at >= 0 && /^(?:npx|sudo|docker|\.\/grantd)$/.test(tool))
    return problemOfCommand(words.slice(at + 1), program);
  if (tool === 'npm' && rest[0] === 'run' && !((rest[1] ?? '') in scripts)) return 'there is no such script';
  return SHELL.test(tool) || tool === '$' ? undefined : `no test runs ${tool}`;
}

/** Parses the flags as the program does. */
function problemOfCommand(words: readonly string[], program: Command): string | undefined {
  let command: Command = program;
  let rest = [...words];
  for (;;) {
    const next = command.commands.find((one) => one.name() === rest[0]);
    if (next === undefined) break;
    command = next;
    rest = rest.slice(1);
  }
  if (command === program)
    return words[0] === 'help' || words[0] === undefined ? undefined : 'no such command';
  command.exitOverride().configureOutput({ writeErr: () => {} });
  try {
    const { unknown } = command.parseOptions(rest);
    return unknown.length === 0 ? undefined : `no such flag ${unknown[0]}`;
  } catch (error) {
    return String(error);
  }
}

/** What fragments of code take from their surroundings. */
const SURROUNDINGS = `
declare global {
  const app: any, context: any, database: any, client: any, callbackUrl: URL, accessToken: string, transfer: any;
  const token: string, issuer: string, secret: string, options: any, storage: any, request: any, key: string, cert: string, ca: string;
  const tokens: import('@grantd/protect').AccessTokenVerifier;
  const server: any, grantd: import('grantd').Embedded;
  function findUser(subject: string): Promise<{ groups: string[]; tenant: string } | undefined>;
  function yourUserWith(username: string, password: string): any;
  function yourUserOf(subject: string): any;
  function insertClient(id: string, secret: string): Promise<void>;
  function insertRow(token: object): Promise<void>;
  function load(name: string): Promise<CryptoKeyPair | undefined>;
  function save(name: string, key: unknown): Promise<void>;
  const protect: any, AuthorizationServer: any, UserManager: any, EmbeddedAccessTokens: any;
  const kyselyStorage: any, db: any, saveClient: any, sweep: any;
}
export {};
`;

test('the code of the pages compiles', () => {
  const examples = globSync('{examples,core/test/runtimes}/**/*.{ts,js}', {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  })
    .map((file) => withoutSpace(readFileSync(join(ROOT, file), 'utf8')))
    .join('\n');
  const folder = join(ROOT, '.test-results', 'docs_blocks');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'surroundings.d.ts'), SURROUNDINGS);
  const places = new Map<string, string>();
  for (const [index, { place, code }] of checked('ts', 'js').entries()) {
    if (examples.includes(withoutSpace(code))) continue;
    const file = `block_${index}.ts`;
    places.set(file, place);
    writeFileSync(join(folder, file), `${code}\nexport {};\n`);
  }
  const compilerOptions = {
    noUnusedLocals: false,
    noUnusedParameters: false,
    noImplicitAny: false,
    paths: { grantd: ['../../server/src/embed.ts'] },
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
  );
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8', cwd: folder });
  const said = stdout.split('\n').filter((line) => line.startsWith('block_'));
  assert.deepEqual(
    said.map((line) => line.replace(/^block_\d+\.ts/, (file) => places.get(file) ?? file)),
    [],
  );
});

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '');
}
