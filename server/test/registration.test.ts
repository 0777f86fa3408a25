import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, describe, test } from 'node:test';
import * as openid from 'openid-client';
import { ALICE, Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const CALLBACK = 'http://localhost:4711/callback';

function post({ url }: RunningServer, members: object, token?: string): Promise<Response> {
  return fetch(`${url}/register`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(members),
  });
}

describe('registration', () => {
  test('what an operator sets of a client outlives its own updates, until the operator lets go', async () => {
    const folder = workbench.folder();
    const server = await workbench.start(folder, [
      ...['--registration', 'open', '--insecure-development'],
      ...['--registration-scopes', 'openid,read', '--registration-apis', 'https://api.example'],
    ]);
    const members = { redirect_uris: [CALLBACK], scope: 'openid read' };
    const registered = await (await post(server, members)).json();
    assert.deepEqual([registered.scope, registered.apis], ['openid read', ['https://api.example']]);
    const put = async () => {
      const response = await fetch(registered.registration_client_uri, {
        method: 'PUT',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${registered.registration_access_token}`,
        },
        body: JSON.stringify({ ...members, client_id: registered.client_id }),
      });
      const { scope, require_pushed_authorization_requests: mustPush, apis, ...rest } = await response.json();
      return [scope, mustPush, apis, rest.set_by_operator];
    };
    const update = (...flags: string[]) =>
      grantdPrints(folder, ['client', 'update', registered.client_id, ...flags]);
    await update('--scope', 'openid', '--require-pushed-authorization-requests');
    await update('--unset', 'api');
    const set = ['scope', 'require_pushed_authorization_requests'];
    assert.deepEqual(await put(), ['openid', true, undefined, set]);
    const shown = await grantdPrints(folder, ['client', 'show', registered.client_id]);
    assert.match(shown, /^set by operator +scope require_pushed_authorization_requests$/m);
    await update('--unset', 'set-by-operator');
    assert.deepEqual(await put(), ['openid read', undefined, undefined, undefined]);
  });

  test('a name that an operator gives a client replaces what it called itself in every language', async () => {
    const folder = workbench.folder();
    const server = await workbench.start(folder, ['--registration', 'open', '--insecure-development']);
    const names = { client_name: 'Bank', 'client_name#de': 'Bank', 'client_name#en': 'Bank' };
    const { client_id: id } = await (await post(server, { redirect_uris: [CALLBACK], ...names })).json();
    await grantdPrints(folder, [
      'client',
      'update',
      id,
      '--name',
      'Shop',
      '--localized',
      'client_name#en=Store',
    ]);
    const shown = await grantdPrints(folder, ['client', 'show', id]);
    assert.equal(shown.includes('Bank'), false, shown);
    assert.match(shown, /Shop.*Store/s);
  });

  test('is off unless it is asked for', async () => {
    const server = await workbench.start(workbench.folder());
    assert.equal((await post(server, {})).status, 404);
    const metadata = await (await fetch(`${server.url}/.well-known/openid-configuration`)).json();
    assert.equal(metadata.registration_endpoint, undefined);
  });

  test('openid-client registers itself, signs a user in, and its registration is read, replaced and removed', async () => {
    const server = await workbench.start(workbench.folder(), [
      ...['--demo', '--registration', 'open', '--insecure-development'],
    ]);
    const configuration = await openid.dynamicClientRegistration(
      new URL(server.url),
      {
        redirect_uris: [CALLBACK],
        client_name: 'Shop',
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      undefined,
      { execute: [openid.allowInsecureRequests] },
    );
    const { client_id, client_secret, ...metadata } = configuration.clientMetadata();
    assert.ok(client_secret);
    const verifier = openid.randomPKCECodeVerifier();
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: CALLBACK,
      scope: 'openid email offline_access',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const browser = new Browser(server.url);
    const consent = await browser.submit(await browser.get(url.href), { ...ALICE });
    assert.match(consent.html, /id="registered-itself"/);
    const callback = await signInAndConsent(new Browser(server.url), url.href);
    const tokens = await openid.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
    });
    const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    const subject = tokens.claims()?.sub ?? '';
    await openid.fetchUserInfo(configuration, refreshed.access_token, subject);

    const authorization = `Bearer ${metadata.registration_access_token}`;
    const configure = (method: string, members?: object) =>
      fetch(String(metadata.registration_client_uri), {
        method,
        headers: { authorization, ...(members && { 'content-type': 'application/json' }) },
        ...(members && { body: JSON.stringify(members) }),
      });
    assert.equal((await (await configure('GET')).json()).client_name, 'Shop');
    const replaced = await configure('PUT', { client_id, redirect_uris: [CALLBACK], client_name: 'Store' });
    assert.equal((await replaced.json()).client_name, 'Store');
    const shown = await grantdPrints(server.folder, ['client', 'show', client_id]);
    assert.match(shown, /^name +Store$/m);
    assert.match(shown, /^registered +by itself$/m);
    assert.ok(!shown.includes(client_secret));
    assert.equal((await configure('DELETE')).status, 204);
    await until(() => server.log().some(({ method }) => method === 'DELETE'), 'the removal is logged');
    await assert.rejects(openid.fetchUserInfo(configuration, refreshed.access_token, subject));
    const log = server.stdout();
    for (const secret of [client_secret, String(metadata.registration_access_token)])
      assert.ok(!log.includes(secret), 'no secret is in the log');
  });

  test('behind a token of the operator’s, a token for one client registers one', async () => {
    const folder = workbench.folder();
    const server = await workbench.start(folder, ['--registration', 'token']);
    const environment = { GRANTD_REGISTRATION: 'token' };
    const made = ['client', 'registration-token', '--lifetime', '60', '--once', '--json'];
    const { token, once } = JSON.parse(await grantdPrints(folder, made, '', environment));
    assert.equal(once, true);
    const members = { redirect_uris: ['https://shop.example/callback'] };
    assert.equal((await post(server, members)).status, 401);
    assert.equal((await post(server, members, token)).status, 201);
    assert.equal((await post(server, members, token)).status, 401);
    const requests = () => server.log().filter(({ event }) => event === 'request');
    await until(() => requests().length === 3, 'all of them are logged');
    assert.ok(!server.stdout().includes(token));

    const { stdout, stderr } = await grantd(folder, ['client', 'registration-token']);
    assert.match(stderr, /the server accepts this token only with --registration token/);
    const reusable = stdout.trim();
    assert.equal((await post(server, members, reusable)).status, 201);
    assert.equal((await post(server, members, reusable)).status, 201);
    assert.equal((await grantd(folder, ['client', 'registration-token', '--lifetime', '0'])).code, 2);
  });

  test('a sector document on a private address is fetched in development alone', async (t) => {
    const site = createServer((_, response) => response.end(JSON.stringify([CALLBACK])));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    t.after(() => site.close());
    const address = site.address();
    if (address === null || typeof address === 'string') throw new Error('the site has no port');
    const members = (protocol: string) => ({
      application_type: 'native',
      redirect_uris: [CALLBACK],
      sector_identifier_uri: `${protocol}://127.0.0.1:${address.port}/`,
    });
    const open = ['--registration', 'open'];
    const development = await workbench.start(workbench.folder(), [...open, '--insecure-development']);
    assert.equal((await post(development, members('http'))).status, 201);
    const server = await workbench.start(workbench.folder(), open);
    const refused = await post(server, members('https'));
    assert.deepEqual(await refused.json(), {
      error: 'invalid_client_metadata',
      error_description:
        'sector_identifier_uri: this server does not fetch this URL: the host has an address that is not public',
    });
    const unreachable = await post(server, {
      ...members('https'),
      sector_identifier_uri: 'https://a.invalid/',
    });
    assert.equal(unreachable.status, 400);
    const refusal = await server.logged(({ cause }) => cause !== undefined, 'why');
    assert.deepEqual([refusal.reason, refusal.level], ['client_metadata_unfit', 'info']);
  });
});
