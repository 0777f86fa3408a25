// § refers to RFC 9449.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AccessTokenVerifier } from '@grantd/protect';
import { protect, tokenOf } from '@grantd/protect/node';
import { calculateJwkThumbprint } from 'jose';
import { type Application, startApplication } from '../harness/application.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addClient } from '../harness/clients.ts';
import { listenOnLoopback } from '../harness/listening.ts';
import { introspect } from '../harness/protocol.ts';
import { type Scene, scene } from './scene.ts';
import { Visit } from './visit.ts';

const FILES = join(import.meta.dirname, 'dpop_application');
const LIBRARY = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'oauth4webapi');

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
}

/** An API on an origin of its own, which web pages of every origin may call. */
async function startApi(issuer: string) {
  const server = createServer();
  const url = `http://localhost:${await listenOnLoopback(server)}`;
  const guard = protect({
    tokens: new AccessTokenVerifier({ issuer, audience: url }),
    scopes: ['read'],
    dpop: { baseUrl: url, nonceSecret: 'a secret of the API with more than 32 characters' },
  });
  server.on('request', (request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, dpop');
    response.setHeader('access-control-expose-headers', 'DPoP-Nonce, WWW-Authenticate');
    if (request.method === 'OPTIONS') response.writeHead(204).end();
    else void guard(request, response, () => response.end(`notes of ${tokenOf(request).clientId}`));
  });
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function register({ server }: Scene, site: Application, api: string): Promise<void> {
  const files = { '/': 'index.html', '/callback': 'index.html' };
  for (const [path, file] of Object.entries(files)) site.put(path, readFileSync(join(FILES, file), 'utf8'));
  for (const file of ['application.js', 'storage.js'])
    site.put(`/${file}`, readFileSync(join(FILES, file), 'utf8'), 'text/javascript');
  const library = readFileSync(join(LIBRARY, 'build', 'index.js'), 'utf8');
  site.put('/oauth4webapi.js', library, 'text/javascript');
  const settings = { issuer: server.url, client_id: 'notes-page', api };
  site.put('/settings.json', JSON.stringify(settings), 'application/json');
  const noGrants = { grantTypes: [], redirectUris: [], scopes: [] };
  await addClient(server, { id: 'notes-api', ...noGrants, resource: api });
  await addClient(server, {
    id: 'notes-page',
    name: 'Notes',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'read'],
    redirectUris: [`${site.origin}/callback`],
    metadata: { apis: [api], dpop_bound_access_tokens: true },
  });
}

describe('DPoP in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(['--dpop-nonces', 'required']);
  let site: Application | undefined;
  let api: Awaited<ReturnType<typeof startApi>> | undefined;
  before(async () => {
    site = await startApplication();
    api = await startApi(set().server.url);
    await register(set(), site, api.url);
  });
  after(() => {
    site?.close();
    api?.close();
  });

  test('§8, §9, §11.4 a page signs in, calls UserInfo and an API, refreshes, and keeps a key that it cannot read', async () => {
    assert.ok(site && api);
    const { server, chromium } = set();
    const page = await chromium.page();
    const visit = new Visit(page, server.url);
    /** Refusals in order, each of which had a nonce. */
    const refusals: string[] = [];
    page.on('response', (response) => {
      const { 'dpop-nonce': nonce = '' } = response.headers();
      if (response.status() >= 400 && nonce !== '')
        refusals.push(`${response.status()} ${new URL(response.url()).pathname}`);
    });
    const settled = async () => {
      await page.waitForFunction(() =>
        /^signed (in|out)$/.test(document.getElementById('state')?.textContent ?? ''),
      );
      assert.equal(await page.innerText('#problem'), '');
      return page.innerText('#state');
    };
    const press = async (id: string) => {
      await page.click(`#${id}`);
      return settled();
    };
    const kept = (name: string) =>
      page.evaluate(async (wanted) => {
        const path = '/storage.js';
        const { load } = await import(path);
        return load(wanted);
      }, name) as Promise<unknown>;
    const tokens = async () => (await kept('tokens')) as Tokens;
    /** What a script of the page can find out about the key. */
    const key = () =>
      page.evaluate(async () => {
        const path = '/storage.js';
        const { privateKey, publicKey } = await (await import(path)).load('key');
        const reading = ['jwk', 'pkcs8'].map((format) =>
          crypto.subtle.exportKey(format as 'jwk', privateKey).then(
            () => 'read',
            (error) => error.name,
          ),
        );
        const jwk = await crypto.subtle.exportKey('jwk', publicKey);
        return { isExtractable: privateKey.extractable, read: await Promise.all(reading), jwk };
      });
    const readAll = async () => {
      assert.equal(await press('read'), 'signed in');
      return [await page.innerText('#name'), await page.innerText('#notes')];
    };
    const expected = ['Alice Liddell', 'notes of notes-page'];

    await page.goto(`${site.origin}/`);
    assert.equal(await settled(), 'signed out');
    await page.click('#sign-in');
    await visit.signIn();
    await page.click('#consent-allow');
    await page.waitForURL(`${site.origin}/`);
    assert.equal(await settled(), 'signed in');
    assert.deepEqual(refusals, ['400 /token']);

    const first = await tokens();
    assert.equal(first.token_type.toLowerCase(), 'dpop');
    const { isExtractable, read, jwk } = await key();
    assert.deepEqual([isExtractable, read], [false, ['InvalidAccessError', 'InvalidAccessError']]);
    const cnf = { jkt: await calculateJwkThumbprint(jwk) };
    assert.deepEqual((await introspect(server.url, first.access_token)).cnf, cnf);
    assert.deepEqual(await readAll(), expected);
    assert.deepEqual(refusals, ['400 /token', '401 /notes']);

    assert.equal(await press('refresh'), 'signed in');
    const second = await tokens();
    assert.notEqual(second.access_token, first.access_token);
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.deepEqual(await readAll(), expected);

    // After a reload the page has no nonces, but the same key.
    await page.reload();
    assert.equal(await settled(), 'signed in');
    assert.deepEqual(await readAll(), expected);
    assert.deepEqual(refusals.slice(2), ['401 /userinfo', '401 /notes']);
    assert.equal(await press('refresh'), 'signed in');
    const after = await key();
    assert.deepEqual([after.isExtractable, after.jwk], [false, jwk]);
    assert.deepEqual((await introspect(server.url, (await tokens()).access_token)).cnf, cnf);

    // A script of the page can take the tokens away, but not the key.
    const { access_token } = await tokens();
    for (const url of [`${server.url}/userinfo`, `${api.url}/notes`])
      for (const scheme of ['Bearer', 'DPoP']) {
        const { status } = await fetch(url, { headers: { authorization: `${scheme} ${access_token}` } });
        assert.equal(status, 401, `${scheme} ${url}`);
      }
  });
});
