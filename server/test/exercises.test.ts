// The exercises of CONTRIBUTING.md: their code is added to the sources while these are loaded, and then used.
// Runs alone: it changes how modules are loaded.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { after, mock, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workbench } from './harness/program.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const CONTRIBUTING = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

/** By file: the source with the code of every exercise. */
const sources = new Map<string, string>();
registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const { href, protocol } = URL.parse(specifier, context.parentURL) ?? {};
    return href !== undefined && protocol === 'file:' && sources.has(fileURLToPath(href))
      ? { url: href, format: 'module-typescript', shortCircuit: true }
      : nextResolve(specifier, context);
  },
  load: (url, context, nextLoad) => {
    const source = url.startsWith('file:') ? sources.get(fileURLToPath(url)) : undefined;
    return source === undefined
      ? nextLoad(url, context)
      : { format: 'module-typescript', source, shortCircuit: true };
  },
});

const STEP =
  /^\d+\. (?:`(?<file>[^`]+)`: |In `(?<folder>[^`]+)`, write `(?<name>[^`]+)`)(?<text>[^\n]*)\n(?:\n {3}```ts\n(?<code>.*?)\n {3}```)?/gms;

/** The files that an exercise changes, after its code has been added to them. */
function apply(title: string): readonly string[] {
  const [, exercise = assert.fail(`no exercise: ${title}`)] =
    new RegExp(`^### ${title}\\n(.*?)(?=^##)`, 'ms').exec(CONTRIBUTING) ?? [];
  return [...exercise.matchAll(STEP)].map(({ groups = {} }) => {
    const { file = `${groups.folder}${groups.name}`, text = '', code = '' } = groups;
    const snippet = code.replaceAll(/^ {3}/gm, '');
    if (groups.name !== undefined) sources.set(join(ROOT, file), snippet);
    else if (snippet !== '') change(file, (source) => withCode(source, text, snippet));
    return file;
  });
}

function change(file: string, by: (source: string) => string): void {
  const path = join(ROOT, file);
  sources.set(path, by(sources.get(path) ?? readFileSync(path, 'utf8')));
}

/** Replaces the only line that has a part. */
function withLine(source: string, part: string, code: string): string {
  const lines = source.split('\n');
  assert.equal(lines.filter((line) => line.includes(part)).length, 1, `there is one line with ${part}`);
  return lines.map((line) => (line.includes(part) ? code : line)).join('\n');
}

/** Adds code at the beginning of the table or interface that a step names, a migration at the end of the list. */
function withCode(source: string, text: string, code: string): string {
  const replaced = /in place of the line with `([^`]+)`/.exec(text)?.[1];
  if (replaced !== undefined) return withLine(source, replaced, code);
  const table = /`([A-Z]\w*)`/.exec(text)?.[1] ?? assert.fail(`no table in “${text}”`);
  const start = new RegExp(`^(?:export )?(?:const|interface) ${table}\\b`, 'm').exec(source)?.index ?? -1;
  assert.notEqual(start, -1, `there is no ${table}`);
  const [before, rest] = [source.slice(0, start), source.slice(start)];
  const version = /^const (VERSION_\d+)/.exec(code)?.[1];
  if (version === undefined) return before + rest.replace(/[[{]\n/, (open) => `${open}${code}\n`);
  assert.ok(!new RegExp(`\\b${version}\\b`).test(source), `${version} is the next one`);
  return `${before}${code}\n${rest.replace(/VERSION_\d+(?=,?\s*\])/, (last) => `${last}, ${version}`)}`;
}

const touched = {
  method: apply('Add a client authentication method'),
  grant: apply('Add a grant'),
  option: apply('Add an option'),
  column: apply('Add a column to tokens'),
  pending: apply('Add a kind of pending row'),
  metric: apply('Add a metric'),
  resource: apply('Add an administrative resource'),
};
const imports: readonly (readonly [file: string, line: string])[] = [
  ['core/src/token/token.ts', "import { dummy } from './dummy.ts';"],
  ['server/src/admin/table.ts', "import { PROVIDER_OPERATIONS } from './providers.ts';"],
  ['server/src/console/console.ts', "import { showProviders } from './providers.ts';"],
];
for (const [file, line] of imports) change(file, (source) => `${line}\n${source}`);

const ISSUER_MEMBER = "  | 'issuer'";
change('core/src/discovery/metadata.ts', (source) =>
  withLine(source, ISSUER_MEMBER, `${ISSUER_MEMBER}\n  | 'hidesGrants'`),
);

const { AuthorizationServer, errorResponse } = await import('@grantd/core');
const { memoryStorage } = await import('@grantd/core/memory');
const { openSqliteStorage } = await import('@grantd/core/sqlite');
const { readConfiguration } = await import('../src/config/configuration.ts');
const { flagOf, OPTIONS } = await import('../src/config/options.ts');
const { logTo } = await import('../src/log/log.ts');
const { Monitor } = await import('../src/monitoring/monitor.ts');
const { prometheusText } = await import('../src/monitoring/prometheus.ts');

const ISSUER = 'http://localhost:3000';
const workbench = new Workbench();
after(() => workbench.clear());

test('each exercise touches at most four files, and a resource with all its faces at most eight', () => {
  for (const [exercise, files] of Object.entries(touched)) {
    const most = exercise === 'resource' ? 8 : 4;
    assert.ok(files.length >= 2 && files.length <= most, `${exercise}: ${files.join(', ')}`);
    assert.deepEqual(files, [...new Set(files)]);
  }
});

test('the code of the exercises compiles', async () => {
  const folder = join(ROOT, '.test-results', 'exercises');
  rmSync(folder, { recursive: true, force: true });
  for (const part of ['core/src', 'core/package.json', 'server/src', 'server/demo', 'server/package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'server', 'node_modules'), join(folder, 'server', 'node_modules'));
  mkdirSync(join(folder, 'node_modules', '@grantd'), { recursive: true });
  symlinkSync('../../core', join(folder, 'node_modules', '@grantd', 'core'));
  // `npm run docs` writes the types of the options, as the exercise says.
  const { optionsInterfaces } = await import('../../scripts/options_page.ts');
  const types = 'core/src/options/authorization_server_options.generated.ts';
  const written = [...sources, [join(ROOT, types), optionsInterfaces(join(ROOT, types))] as const];
  for (const [path, source] of written) writeFileSync(join(folder, relative(ROOT, path)), source);
  const include = ['core/src', 'server/src'];
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include, exclude: [] }),
  );
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

test('a method authenticates its clients, is announced, and makes its demands of a registration', async () => {
  const server = serverWith({});
  await assert.rejects(server.add({ token_endpoint_auth_method: 'x_shared_header' }), {
    message: /x_shared_header needs contacts/,
  });
  await server.add({ token_endpoint_auth_method: 'x_shared_header', contacts: ['ops@client.example'] });
  const asked = (secret: string) =>
    server.token({ grant_type: 'client_credentials' }, { 'x-shared-secret': `api ${secret}` });
  assert.equal((await asked('its-secret')).status, 200);
  assert.equal((await asked('another')).status, 401);
  const methods = (await server.metadata()).token_endpoint_auth_methods_supported;
  assert.ok(methods.includes('x_shared_header'), methods);
});

test('a grant is announced, issues tokens, and refuses clients that are not registered for it', async () => {
  const server = serverWith({});
  await server.add({ grant_types: ['urn:example:dummy'] });
  const asBasic = { authorization: `Basic ${btoa('api:its-secret')}` };
  const answer = await server.token({ grant_type: 'urn:example:dummy' }, asBasic);
  assert.deepEqual([answer.status, JSON.parse(answer.body).token_type], [200, 'Bearer']);
  const other = await server.token({ grant_type: 'client_credentials' }, asBasic);
  assert.equal(JSON.parse(other.body).error, 'unauthorized_client');
  assert.ok((await server.metadata()).grant_types_supported.includes('urn:example:dummy'));
});

test('an option is checked, read by an endpoint, and offered by the program as flag, variable and member', async () => {
  assert.ok('grant_types_supported' in (await serverWith({}).metadata()));
  assert.ok(!('grant_types_supported' in (await serverWith({ hidesGrants: true }).metadata())));
  assert.throws(() => serverWith({ hidesGrants: 'no' }), { message: /hidesGrants.*true or false/ });

  const name = 'hidesGrants' as keyof typeof OPTIONS;
  const told = (flags: Readonly<Record<string, unknown>>, environment: NodeJS.ProcessEnv) =>
    readConfiguration(flags, environment).settings[name];
  assert.equal(flagOf(name), '--hides-grants');
  assert.deepEqual(
    [told({}, {}), told({ [name]: 'true' }, {}), told({}, { GRANTD_HIDES_GRANTS: 'true' })],
    [false, true, true],
  );
  const config = join(workbench.folder(), 'grantd.json');
  writeFileSync(config, '{"hidesGrants":true}', { mode: 0o600 });
  assert.equal(told({ config }, {}), true);
});

test('a column is written and read', async () => {
  const storage = openSqliteStorage({ path: join(workbench.folder(), 'grantd.db'), issuer: ISSUER });
  after(() => storage.close());
  await storage.clients.add({ id: 'api', grantTypes: [], scopes: [], redirectUris: [] });
  const issuedAtMs = Date.now();
  const expiresAt = Math.ceil(issuedAtMs / 1000) + 60;
  const token = {
    ...({ id: 'token', kind: 'access_token', digest: 'digest', clientId: 'api', scopes: [] } as const),
    ...{ issuedAtMs, expiresAt, keepUntil: expiresAt, origin: 'a test' },
  };
  assert.equal(await storage.tokens.issue([token], { clientGeneration: 0 }), 'issued');
  const found: object | undefined = (await storage.tokens.getByAccessToken('token')) ?? undefined;
  assert.equal(found && 'origin' in found && found.origin, 'a test');
});

test('a metric is counted, and is in a scrape with its label', () => {
  const monitor = new Monitor();
  const log = monitor.log(logTo({ write: () => {} }));
  log.info({ event: 'consent_given', page: 'consent', clientId: 'web' });
  log.info({ event: 'consent_given', page: 'consent', clientId: 'other' });
  const lines = prometheusText(monitor.counts()).split('\n');
  assert.ok(lines.includes('grantd_consents_total{decision="given"} 2'), lines.join('\n'));
});

test('a resource has an operation, a part of the API, a command and a page of the console', async () => {
  const { openApiDocument } = await import('../src/http/openapi.ts');
  const api: Readonly<Record<string, unknown>> = openApiDocument(ISSUER);
  assert.equal(Object(api.paths)['/providers'].get.operationId, 'listProviders');

  const folder = workbench.folder();
  const google = { client_id: 'web', client_secret: 'a secret of a client', kind: 'google' };
  const providers = join(folder, 'providers.json');
  writeFileSync(providers, JSON.stringify({ google }), { mode: 0o600 });
  const { createProgram } = await import('../src/cli/program.ts');
  const printed: string[] = [];
  const log = mock.method(console, 'log', (line: string) => void printed.push(line));
  process.env.GRANTD_PROVIDERS = providers;
  try {
    const database = `sqlite:${join(folder, 'resource.db')}`;
    const run = async (...args: readonly string[]) =>
      (await createProgram(args[0])).parseAsync(['node', 'grantd', ...args, '--database', database]);
    await run('group', 'add', 'any');
    await run('providers', 'list');
  } finally {
    log.mock.restore();
    delete process.env.GRANTD_PROVIDERS;
  }
  assert.match(printed.at(-1) ?? '', /^google {2}https:\/\/accounts\.google\.com/);

  const page: string = '../src/console/providers.ts';
  const { providersPage } = await import(page);
  const view = { base: '/console', current: 'providers', formToken: '', person: { name: 'a' }, signOut: '/' };
  const setting = { language: 'de', operator: { name: 'Shop', color: '#123456' }, languages: [] };
  const items = [{ id: 'google', issuer: 'https://accounts.google.com', domains: [] }];
  const { title, before, body } = providersPage({ ...view, items }, setting);
  const html = String(await body);
  assert.match(title, /^Anmeldedienste/);
  assert.match(
    String(await before),
    /<a href="\/console\/providers" aria-current="page">Anmeldedienste<\/a>/,
  );
  assert.match(html, /<dt>google<\/dt><dd>https:\/\/accounts\.google\.com<\/dd>/);
});

test('a kind of pending row is stored, changed and taken by every store, and checked by the kit', async () => {
  const { storageKit } = await import('@grantd/core/kit');
  const { hostStorage } = await import('../../core/src/storage/host_storage.ts');
  const { accept, confirm, invite } = await import(join(ROOT, 'core', 'src', 'operator', 'invitation.ts'));
  const path = (name: string) => join(workbench.folder(), name);
  const clock = { nowMs: 0 };
  const options = { issuer: ISSUER, clock: () => clock.nowMs };
  for (const open of [
    () => memoryStorage(options),
    () => openSqliteStorage({ ...options, path: path('pending.db') }),
  ]) {
    const own = open();
    const context = { storage: hostStorage(own), clock: options.clock };
    const ids = { id: 'digest of an invitation', otherId: 'digest of a short code' };
    assert.equal(await invite(context, ids, 'shop', 'staff'), true);
    assert.equal(await invite(context, { ...ids, id: 'another' }, 'shop', 'staff'), false);
    assert.equal(await accept(context, ids.id), undefined);
    assert.equal(await confirm(context, 'unknown', 'alice'), false);
    assert.equal(await confirm(context, ids.otherId, 'alice'), true);
    const accepted = await Promise.all([accept(context, ids.id), accept(context, ids.id)]);
    assert.deepEqual(
      accepted.filter((found) => found !== undefined),
      [{ group: 'staff', confirmedBy: 'alice' }],
    );
    await own.close();
  }
  const cases = storageKit().filter(({ title }) => title.includes('pending row'));
  assert.ok(cases.length >= 8);
  for (const { group, run } of cases)
    if (group !== 'faults')
      await run({ clock, open: () => openSqliteStorage({ ...options, path: path('kit.db') }) });
});

/** A server with options and metadata that its types do not have. */
function serverWith(options: object) {
  const storage = memoryStorage();
  const server = new AuthorizationServer({ issuer: ISSUER, secret: '-'.repeat(32), storage, ...options });
  return {
    async add(members: object) {
      await server.prepare();
      const client = await server.operator.clientFrom(
        { id: 'api' },
        { grant_types: ['client_credentials'], ...members },
      );
      await storage.clients.add({
        ...client,
        secrets: [await server.operator.hashClientSecret('its-secret')],
      });
    },
    token: (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
      server.token({ method: 'POST', url: '/token', headers, body: { ...form } }).catch(errorResponse),
    metadata: async () => JSON.parse((await server.metadata({ method: 'GET', url: '/', headers: {} })).body),
  };
}
