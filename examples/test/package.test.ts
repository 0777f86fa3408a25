// The hosts of `three_endpoints`, copied into an empty project with the packages as npm would publish them.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { installedLibraries, linkPackage, packedPackages } from '../../core/test/harness/package/archives.ts';
import { ROOT } from '../../core/test/harness/package/packed.ts';
import { output, run } from '../../core/test/harness/package/run.ts';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { basic, post } from './asking.ts';
import { type Application, applicationWith, CLIENTS, PUBLIC_KEY, TABLE_FORMS } from './own_tables.ts';
import { started } from './started.ts';
import { assertThreeEndpoints } from './three_endpoints.ts';

const EXAMPLE = join(ROOT, 'examples', 'three_endpoints');
const HOSTS = ['node.ts', 'express.ts', 'hono.ts'];
const ROUTE = join('app', '[...endpoint]', 'route.ts');
const DATABASES = ['sqlite.ts', 'postgres.ts', 'drizzle.ts'];
const ISSUER = 'http://localhost:3000';
/** What users install besides the package. */
const PACKAGES = [
  ...['bcryptjs', 'drizzle-orm', 'express', '@hono/node-server', 'hono', 'pg'],
  ...['@types/express', '@types/node', '@types/pg'],
];

const project = installedLibraries(packedPackages());

before(() => {
  for (const name of PACKAGES) linkPackage(project, name);
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ ...manifest, type: 'module' }));
  for (const database of DATABASES) copyHosts(database);
});

/** Copies the example, with one database for all hosts. */
function copyHosts(database: string): void {
  const folder = folderOf(database);
  cpSync(EXAMPLE, folder, { recursive: true });
  for (const host of [...HOSTS, ROUTE]) {
    const source = readFileSync(join(EXAMPLE, host), 'utf8');
    writeFileSync(join(folder, host), source.replace('/sqlite.ts', `/${database}`));
  }
}

function folderOf(database: string): string {
  return join(project, database.replace('.ts', ''));
}

for (const [module, moduleResolution] of [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const) {
  test(`every host on every database compiles under strict, resolved as by ${moduleResolution}`, () => {
    const compilerOptions = {
      ...{ strict: true, noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true },
      ...{ target: 'es2024', types: ['node'], module, moduleResolution },
    };
    const file = join(project, `tsconfig.${moduleResolution}.json`);
    writeFileSync(file, JSON.stringify({ compilerOptions, include: DATABASES.map(folderOf) }));
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const { status, stdout } = run(process.execPath, [compiler, '-p', file, '--listFiles'], project);
    assert.equal(status, 0, stdout);
    for (const host of [...HOSTS, ROUTE])
      assert.equal(stdout.split(`/${host}\n`).length - 1, DATABASES.length, host);
  });
}

for (const form of TABLE_FORMS) {
  const isPostgres = form.file !== 'sqlite.ts';
  describe(form.title, { skip: isPostgres && POSTGRES_ABSENCE }, () => {
    let application: Application;
    const urls = new Map<string, string>();

    before(async () => {
      const cwd = mkdtempSync(join(project, 'process-'));
      const place = isPostgres ? await disposableDatabase(await sharedPostgres()) : cwd;
      application = await applicationWith(form, place, ISSUER);
      writeFileSync(join(cwd, 'public_key.pem'), PUBLIC_KEY);
      const variables = { DATABASE_URL: place, NODE_OPTIONS: '' };
      const { file, ports } = await hostsInOneProcess(form.file);
      const { url } = await started({ after }, file, variables, { cwd, hidesErrors: true });
      for (const host of HOSTS) urls.set(host, url.replace(/\d+$/, String(ports.get(host) ?? '$&')));
    });
    after(() => application.end());

    for (const host of form.isVariant ? HOSTS.slice(0, 1) : HOSTS)
      test(`${host} on ${form.title} introspects, revokes and returns claims from the application's tables`, () =>
        assertThreeEndpoints(urls.get(host) ?? '', application));
  });
}

/** A program of all hosts, because processes take long to start. The first one gets the port of the program. */
async function hostsInOneProcess(database: string) {
  const [first, ...others] = HOSTS;
  const ports = new Map<string, number>();
  const lines = [`await import('./${first}');`];
  for (const host of others) {
    const port = await freePort();
    ports.set(host, port);
    lines.push(`process.env.PORT = '${port}';`, `await import('./${host}');`);
  }
  const file = join(mkdtempSync(join(project, 'hosts-')), 'hosts.ts');
  cpSync(folderOf(database), dirname(file), { recursive: true });
  writeFileSync(file, lines.join('\n'));
  return { file, ports };
}

test('without its database, a host answers 503', async (t) => {
  const variables = { DATABASE_URL: 'postgres://127.0.0.1:9/none', NODE_OPTIONS: '' };
  const file = join(folderOf('postgres.ts'), 'node.ts');
  const cwd = mkdtempSync(join(project, 'process-'));
  writeFileSync(join(cwd, 'public_key.pem'), PUBLIC_KEY);
  const { url } = await started(t, file, variables, { cwd, hidesErrors: true });
  const answer = await post(`${url}/token/introspect`, { token: 'x' }, basic('my-app', CLIENTS['my-app']));
  assert.equal(answer.status, 503);
});

for (const database of DATABASES)
  test(`without the public key, the host on ${database} does not start, and the error names the file`, () => {
    const file = join(folderOf(database), 'node.ts');
    const { status, stderr } = run(process.execPath, [file], mkdtempSync(join(project, 'process-')));
    assert.equal(status, 1);
    assert.match(stderr, /ENOENT: no such file or directory, open 'public_key\.pem'/);
  });

const PAGE = readFileSync(join(ROOT, 'docs', 'library.md'), 'utf8');
/** The values that differ between responses, by member. */
const VOLATILE = /"(exp|iat|jti)":(?:\d+|"[\w-]+")/g;
const hasCurl = run('curl', ['--version'], project).status === 0;

/** What the guide says between two of its headings. */
function guide(from: string, to: string): string {
  const [, after = ''] = PAGE.split(`\n${from}\n`);
  return after.split(`\n${to}\n`, 1)[0] ?? '';
}

function shell(command: string, folder: string): string {
  return output('/bin/sh', ['-c', command], folder).trimEnd();
}

test('with the commands of the guide, a new host answers for the tokens of an application', {
  skip: hasCurl ? false : 'there is no curl on this machine',
}, async (t) => {
  const text = guide('## I have my own tokens', '### What a record contains');
  const folder = mkdtempSync(join(project, 'own-'));
  for (const file of ['application.ts', 'sqlite.ts', 'node.ts']) {
    cpSync(join(EXAMPLE, file), join(folder, file));
    assert.ok(text.includes(readFileSync(join(EXAMPLE, file), 'utf8')), file);
  }
  assert.ok(text.includes('\nnode application.ts > tokens.env\n'));
  shell(`'${process.execPath}' application.ts > tokens.env`, folder);
  assert.ok(text.includes('\nnode node.ts\n'));
  const { url } = await started(t, join(folder, 'node.ts'), { NODE_OPTIONS: '' }, { cwd: folder });

  const [, session = ''] = /^```console\n(.*?)^```$/ms.exec(text) ?? [];
  const [load = '', ...steps] = session.split(/^\$ /m).slice(1);
  assert.equal(steps.length, 4);
  for (const step of steps) {
    const [command = '', ...answer] = step.trimEnd().split('\n');
    const own = `${load.trimEnd()}; ${command.replace('http://localhost:3000', url)}`;
    const masked = (json: string) => json.replaceAll(VOLATILE, '"$1":0');
    assert.equal(masked(shell(own, folder)), masked(answer.join('\n')), command);
  }
});

test('with the commands of the guide, a new host issues tokens', {
  skip: hasCurl ? false : 'there is no curl on this machine',
}, async (t) => {
  const text = guide('## grantd issues the tokens', '### Sign users in on your own pages');
  const folder = mkdtempSync(join(project, 'issuing-'));
  for (const file of ['authorization_server.ts', 'node.ts']) {
    cpSync(join(ROOT, 'examples', 'hosts', file), join(folder, file));
    assert.ok(text.includes(readFileSync(join(folder, file), 'utf8')), file);
  }
  const { url } = await started(t, join(folder, 'node.ts'), {}, { cwd: folder });
  const commands = /^```sh\n(TOKEN=.*?)^```$/ms.exec(text)?.[1] ?? '';
  const { active, scope } = JSON.parse(shell(commands.replaceAll('http://localhost:3000', url), folder));
  assert.deepEqual([active, scope], [true, 'read']);
});
