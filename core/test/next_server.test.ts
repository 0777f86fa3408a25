// Begins early: it builds an application.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import {
  type Application,
  applicationWith,
  PUBLIC_KEY,
  TABLE_FORMS,
  type TableForm,
} from '../../examples/test/own_tables.ts';
import { assertThreeEndpoints } from '../../examples/test/three_endpoints.ts';
import { disposableDatabase, sharedPostgres } from './harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from './harness/postgres_installation.ts';
import { rawPost, sendRaw } from './harness/raw_http.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Next.js builds inside an application's folder, and finds packages only above it. */
const FOLDER = join(ROOT, '.test-results', 'next_app');
/** The example with a base path and additional routes. There is only one build, because it takes long. */
const PARTS = [join(ROOT, 'examples', 'next_application'), join(import.meta.dirname, 'next_app')];
const NEXT = join(ROOT, 'node_modules', 'next', 'dist', 'bin', 'next');
/** The example for an application's own tables. Each database gets a folder of routes in the same application. */
const THREE_ENDPOINTS = join(ROOT, 'examples', 'three_endpoints');
const FORMS = TABLE_FORMS.filter(({ isVariant }) => isVariant !== true);
const ENV: NodeJS.ProcessEnv = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: '1',
  NEXT_IGNORE_INCORRECT_LOCKFILE: '1',
  GRANTD_SECRET: 's'.repeat(32),
  DATABASE: join(FOLDER, 'tokens.db'),
};

const MACHINE = { authorization: `Basic ${btoa('machine:its%20secret')}` };

let base: URL;
let told = '';
let stop = async () => {};
const applications = new Map<TableForm, Application>();

before(
  async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    for (const part of PARTS) {
      cpSync(part, FOLDER, { recursive: true, filter: (path) => !path.endsWith('.next') });
    }
    for (const form of FORMS) await addRoutes(form);
    writeFileSync(join(FOLDER, 'public_key.pem'), PUBLIC_KEY);
    const place = { env: ENV, cwd: FOLDER };
    await promisify(execFile)(process.execPath, [NEXT, 'build', FOLDER], { ...place, timeout: 120_000 });
    const args = [NEXT, 'start', FOLDER, '--hostname', '127.0.0.1', '--port', '0'];
    const next = spawn(process.execPath, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'] });
    next.stderr.setEncoding('utf8').on('data', (text) => {
      told += text;
    });
    const exited = once(next, 'exit');
    stop = async () => {
      next.kill();
      await exited;
      rmSync(FOLDER, { recursive: true });
    };
    for await (const line of createInterface(next.stdout)) {
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
      if (address === undefined) continue;
      base = new URL(address);
      next.stdout.resume();
      return;
    }
    throw new Error(`Next.js ended before it listened: ${told}`);
  },
  { timeout: 150_000 },
);
after(async () => {
  await stop();
  await Promise.all([...applications.values()].map((application) => application.end()));
});

/** Adds the example on one database, in JavaScript: for TypeScript, Next.js would install packages. */
async function addRoutes(form: TableForm): Promise<void> {
  const { file } = form;
  const isPostgres = form.times !== 'integer';
  if (isPostgres && POSTGRES_ABSENCE !== false) return;
  const place = isPostgres ? await disposableDatabase(await sharedPostgres()) : FOLDER;
  const variable = `${routesOf(form)}_url`;
  ENV[variable] = place;
  const issuer = `http://localhost:3000/${routesOf(form)}`;
  applications.set(form, await applicationWith(form, place, issuer));
  const add = (source: string, target: string) => {
    const code = readFileSync(join(THREE_ENDPOINTS, source), 'utf8')
      .replace('/sqlite.ts', `/${file}`)
      .replaceAll(/(\.\.?\/\w+)\.ts'/g, "$1.js'")
      .replace('http://localhost:3000', issuer)
      .replaceAll('DATABASE_URL', variable);
    mkdirSync(dirname(join(FOLDER, 'app', target)), { recursive: true });
    writeFileSync(join(FOLDER, 'app', target), transformSync(code, { loader: 'ts' }).code);
  };
  add(join('app', '[...endpoint]', 'route.ts'), join(routesOf(form), '[...endpoint]', 'route.js'));
  add(file, file.replace('.ts', '.js'));
  add('argon2.ts', 'argon2.js');
}

function routesOf({ file }: TableForm): string {
  return file.replace('.ts', '');
}

const post = (
  path: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
) => fetch(new URL(path, base), { method: 'POST', headers, body: new URLSearchParams(form) });

test('grantd §1.3 next: a real server responds below its base path and a folder; other paths are its own', async () => {
  const issued = await post('/base/auth/token', { grant_type: 'client_credentials', scope: 'read' }, MACHINE);
  const { access_token: token } = await issued.json();
  assert.equal(issued.status, 200);
  const introspected = await post('/base/auth/token/introspect', { token }, MACHINE);
  assert.deepEqual([introspected.status, (await introspected.json()).active], [200, true]);
  assert.equal((await post('/base/auth/token/revoke', { token }, MACHINE)).status, 200);
  const dead = await post('/base/introspect', { token }, MACHINE);
  assert.deepEqual([dead.status, await dead.text()], [200, '{"active":false}']);
  assert.equal(await (await fetch(new URL('/base/own', base))).text(), 'the host’s own');
  assert.equal((await fetch(new URL('/base/auth/elsewhere', base))).status, 404);
});

test('examples/next_application issues, introspects and revokes by its catch-all route, and keeps its own page', async () => {
  const service = { authorization: `Basic ${btoa('my-service:its%20secret')}` };
  const issued = await post('/base/token', { grant_type: 'client_credentials', scope: 'read' }, service);
  const { access_token: token } = await issued.json();
  assert.equal(issued.status, 200);
  const isActive = async () =>
    (await (await post('/base/token/introspect', { token }, service)).json()).active;
  assert.equal(await isActive(), true);
  assert.equal((await post('/base/token/revoke', { token }, service)).status, 200);
  assert.equal(await isActive(), false);
  const metadata = await fetch(new URL('/base/.well-known/oauth-authorization-server', base));
  assert.equal((await metadata.json()).issuer, 'http://localhost:3000');
  assert.match(await (await fetch(new URL('/base', base))).text(), /<h1>the application<\/h1>/);
  assert.equal((await fetch(new URL('/base/nobody-is-here', base))).status, 404);
});

for (const form of FORMS) {
  const isPostgres = form.times !== 'integer';
  test(`examples/three_endpoints: Next.js on ${form.title} introspects, revokes and returns claims from the application's tables`, {
    skip: isPostgres && POSTGRES_ABSENCE,
  }, async () => {
    const application = applications.get(form);
    assert.ok(application);
    await assertThreeEndpoints(new URL(`/base/${routesOf(form)}`, base).href, application);
  });
}

test('RFC 9110 §9.3 next: a real server responds to HEAD, OPTIONS and methods that no endpoint has', async () => {
  const jwks = new URL('/base/auth/jwks', base);
  const head = await fetch(jwks, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  assert.equal(head.headers.get('content-type'), 'application/jwk-set+json');
  assert.equal((await fetch(jwks, { method: 'OPTIONS' })).status, 204);
  const patched = await fetch(jwks, { method: 'PATCH' });
  assert.deepEqual([patched.status, patched.headers.get('allow')], [405, 'GET, HEAD']);
});

test('grantd §3.4 next: a real server refuses a body beyond 64 KiB', async () => {
  const refused = await post('/base/auth/token/introspect', { token: 'x'.repeat(64 * 1024) }, MACHINE);
  assert.deepEqual([refused.status, (await refused.json()).error], [413, 'invalid_request']);
});

test('grantd §1.3 next: what is forwarded is 500 by a real server, and only its log says why', async () => {
  const refused = await post('/base/introspect', { token: 'x' }, {});
  assert.deepEqual([refused.status, await refused.text()], [500, '']);
  assert.match(told, /invalid_client.*credentials_missing/s);
});

test('RFC 6749 §2.3 next: of two Authorization lines a real server passes on only the first', async () => {
  const lines = [`Authorization: ${MACHINE.authorization}`, 'Authorization: Basic eDp5'];
  const answer = await sendRaw(Number(base.port), rawPost('/base/auth/token/introspect', lines, 'token=x'));
  assert.match(answer, /^HTTP\/1\.1 200 /);
});
