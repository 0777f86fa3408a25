// Begins early: it builds an application.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { rawPost, sendRaw } from './harness/raw_http.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Next.js builds inside an application's folder, and finds packages only above it. */
const FOLDER = join(ROOT, '.test-results', 'next_app');
/** The example with a base path and additional routes. There is only one build, because it takes long. */
const PARTS = [join(ROOT, 'examples', 'next_application'), join(import.meta.dirname, 'next_app')];
const NEXT = join(ROOT, 'node_modules', 'next', 'dist', 'bin', 'next');
const ENV = {
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

before(
  async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    for (const part of PARTS) {
      cpSync(part, FOLDER, { recursive: true, filter: (path) => !path.endsWith('.next') });
    }
    await promisify(execFile)(process.execPath, [NEXT, 'build', FOLDER], { env: ENV, timeout: 120_000 });
    const args = [NEXT, 'start', FOLDER, '--hostname', '127.0.0.1', '--port', '0'];
    const next = spawn(process.execPath, args, { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] });
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
after(() => stop());

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
