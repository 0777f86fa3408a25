// § refers to Back-Channel Logout.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Provider } from 'oidc-provider';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, isLogin, type Page, signInAndConsent, unescaped } from './harness/browser.ts';
import { IdentityProvider } from './harness/identity_provider.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, payloadOf, redeem } from './harness/protocol.ts';
import { press } from './harness/upstream.ts';

const SECRET = 'the secret of the client at the provider';

describe('sign-in with oidc-provider, home-realm discovery, and logout in both directions', () => {
  const workbench = new Workbench();
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const http: Server = createServer((request, response) => void handle?.(request, response));
  let handle: ReturnType<Provider['callback']> | undefined;
  let pushed = 0;
  let oidcProvider: string;
  let company: IdentityProvider;
  let server: RunningServer;
  after(async () => {
    await workbench.clear();
    http.closeAllConnections();
    http.close();
    await company?.close();
  });
  before(async () => {
    company = await IdentityProvider.open();
    oidcProvider = `http://127.0.0.1:${await listenOnLoopback(http)}`;
    const port = await freePort();
    const ours = `http://localhost:${port}/upstream/oidc-provider`;
    const provider = new Provider(oidcProvider, {
      clients: [
        {
          client_id: 'login',
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: 'ES256',
          jwks: {
            keys: [
              { ...publicKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'ES256', use: 'sig' },
            ] as never,
          },
          redirect_uris: [`${ours}/callback`],
          post_logout_redirect_uris: [`${ours}/signed_out`],
          backchannel_logout_uri: `${ours}/backchannel_logout`,
          backchannel_logout_session_required: true,
          require_pushed_authorization_requests: true,
        },
      ],
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['name', 'preferred_username'],
      },
      cookies: { keys: ['a key for cookies'] },
      // By default, it sends no logout token to loopback.
      fetch: (url, options) => fetch(url, Object.assign({ ...options }, { dispatcher: undefined })),
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      features: {
        backchannelLogout: { enabled: true },
        devInteractions: { enabled: true },
        pushedAuthorizationRequests: { enabled: true },
        rpInitiatedLogout: { enabled: true },
      },
      findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, preferred_username: sub, email: `${sub}@corp.example`, email_verified: true }),
      }),
    });
    provider.on('pushed_authorization_request.success', () => {
      pushed += 1;
    });
    handle = provider.callback();
    const folder = workbench.folder();
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
    const of = { client_id: 'login', create_users: true };
    writeFileSync(
      join(folder, 'providers.json'),
      JSON.stringify({
        'oidc-provider': {
          ...{ ...of, name: 'Corporation', issuer: oidcProvider, trusted_domains: ['corp.example'] },
          ...{ private_key: { file: 'key.pem' }, private_key_id: 'key-1', domains: ['corp.example'] },
        },
        company: {
          ...{ ...of, name: 'Company', issuer: company.url, client_secret: { env: 'PROVIDER_SECRET' } },
          sign_out: false,
        },
      }),
    );
    server = await workbench.start(
      folder,
      ['--demo', '--providers', 'providers.json', '--port', String(port)],
      {
        PROVIDER_SECRET: SECRET,
      },
    );
  });

  /** Signs in and consents at oidc-provider. @returns the callback */
  async function throughOidcProvider(there: Browser, request: string, login: string): Promise<string> {
    let page = await there.get(request);
    for (let step = 0; step < 5 && new URL(page.url).origin === oidcProvider; step++) {
      const [, action = ''] = /<form[^>]* action="([^"]*)" method="post">/.exec(page.html) ?? [];
      const [, prompt = ''] = /name="prompt" value="([^"]*)"/.exec(page.html) ?? [];
      assert.notEqual(action, '', page.html);
      page = await there.post(unescaped(action), { prompt, login, password: 'any' });
    }
    return page.url;
  }

  /** A session and tokens from a sign-in at `company`. */
  async function session(claims: Readonly<Record<string, unknown>>, browser = new Browser(server.url)) {
    const pkce = newPkce();
    const url = authorizationUrl(server.url, pkce, { scope: 'openid profile' });
    const page = await press(browser, await browser.get(url), 'provider-company');
    const consent = await browser.get(company.answer(page.url, claims).href);
    const left = /id="consent-allow"/.test(consent.html)
      ? await browser.submit(consent, { decision: 'allow' })
      : consent;
    const { access_token: token } = await redeem(server.url, pkce, new URL(left.url));
    const isSignedIn = async () => !isLogin(await browser.get(`${server.url}/account`));
    const isAlive = async () => [await isSignedIn(), (await introspect(server.url, token)).active];
    return { browser, isAlive };
  }

  const logOut = (logout_token: string, provider = 'company') =>
    fetch(`${server.url}/upstream/${provider}/backchannel_logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token }),
    });

  const ALIVE = [true, true];
  const ENDED = [false, false];

  test('oidc-provider: the request is pushed, a key authenticates, and both sides sign out', async () => {
    const [browser, there] = [new Browser(server.url), new Browser(oidcProvider)];
    const pkce = newPkce();
    const url = authorizationUrl(server.url, pkce, { scope: 'openid email' });
    const before = pushed;
    const page = await press(browser, await browser.get(url), 'provider-oidc-provider');
    assert.deepEqual(
      [pushed, [...new URL(page.url).searchParams.keys()].sort()],
      [before + 1, ['client_id', 'request_uri']],
    );
    const consent = await browser.get(await throughOidcProvider(there, page.url, 'quin'));
    const left = await browser.submit(consent, { decision: 'allow' });
    const tokens = await redeem(server.url, pkce, new URL(left.url));
    assert.deepEqual(payloadOf(tokens.id_token).amr, ['fed']);

    // RP-Initiated Logout §2: from here to the provider and back.
    const question = await browser.get(`${server.url}/logout`);
    assert.doesNotMatch(question.headers.get('content-security-policy') ?? '', /form-action/);
    const leaving = await press(browser, question, 'logout-yes');
    const to = new URL(leaving.url);
    assert.deepEqual(
      [to.origin, to.searchParams.get('client_id'), to.searchParams.get('post_logout_redirect_uri')],
      [oidcProvider, 'login', `${server.url}/upstream/oidc-provider/signed_out`],
    );
    assert.ok(isLogin(await browser.get(`${server.url}/account`)), 'the session here has ended already');
    const confirm = await there.get(leaving.url);
    const [, action = ''] =
      /<form id="op.logoutForm" method="post" action="([^"]*)">/.exec(confirm.html) ?? [];
    const [, xsrf = ''] = /name="xsrf" value="([^"]*)"/.exec(confirm.html) ?? [];
    const back = await there.post(unescaped(action), { xsrf, logout: 'yes' });
    const done = await browser.get(back.url);
    assert.match(done.html, /You are signed out|id="sign-in-again"/);
  });

  test('§2.5 oidc-provider sends a logout token when its user signs out there', async () => {
    const [browser, there] = [new Browser(server.url), new Browser(oidcProvider)];
    const page = await press(browser, await browser.get(`${server.url}/account`), 'provider-oidc-provider');
    const account = await browser.get(await throughOidcProvider(there, page.url, 'rita'));
    assert.equal(new URL(account.url).pathname, '/account', account.html);
    const confirm = await there.get(`${oidcProvider}/session/end`);
    const [, action = ''] =
      /<form id="op.logoutForm" method="post" action="([^"]*)">/.exec(confirm.html) ?? [];
    const [, xsrf = ''] = /name="xsrf" value="([^"]*)"/.exec(confirm.html) ?? [];
    await there.post(unescaped(action), { xsrf, logout: 'yes' });
    await server.logged(({ event }) => event === 'upstream_logout', 'that the provider signed the user out');
    assert.ok(isLogin(await browser.get(`${server.url}/account`)));
  });

  test('home-realm discovery: an address of a domain leads to its provider, any other name to the password', async () => {
    const browser = new Browser(server.url);
    const first = await browser.get(authorizationUrl(server.url, newPkce()));
    assert.match(first.html, /id="username"/);
    assert.doesNotMatch(first.html, /id="password"/);
    const request = await browser.submit(first, { username: 'sam@CORP.example' });
    assert.equal(new URL(request.url).origin, oidcProvider);
    const second = await browser.submit(first, { username: 'alice' });
    assert.match(second.html, /id="username" name="username" value="alice"[\s\S]*id="password"/);
    const consent = await browser.submit(second, { username: 'alice', password: 'wonderland' });
    assert.match(consent.html, /id="consent-allow"/);
    const other = new Browser(server.url);
    const left = await signInAndConsent(other, authorizationUrl(server.url, newPkce()));
    assert.ok(left.searchParams.has('code'), 'a form with both fields works as before');
  });

  test('§2.6 a logout token ends the session that it names, with its tokens, and no other', async () => {
    const one = await session({ sub: 'tom-1', sid: 'sid-1' });
    const two = await session({ sub: 'tom-1', sid: 'sid-2' });
    const three = await session({ sub: 'una-1', sid: 'sid-3' });
    const response = await logOut(await company.logoutToken({ aud: 'login', sub: 'tom-1', sid: 'sid-1' }));
    assert.deepEqual(
      [response.status, response.headers.get('cache-control'), await response.text()],
      [200, 'no-store', ''],
    );
    assert.deepEqual(
      [await one.isAlive(), await two.isAlive(), await three.isAlive()],
      [ENDED, ALIVE, ALIVE],
    );
    assert.equal((await logOut(await company.logoutToken({ aud: 'login', sub: 'tom-1' }))).status, 200);
    assert.deepEqual([await two.isAlive(), await three.isAlive()], [ENDED, ALIVE]);
    assert.equal((await logOut(await company.logoutToken({ aud: 'login', sid: 'sid-3' }))).status, 200);
    assert.deepEqual(await three.isAlive(), ENDED);
    const none = await logOut(await company.logoutToken({ aud: 'login', sub: 'nobody' }));
    assert.equal(none.status, 200, '§2.8 nobody to sign out is a success');
  });

  test('§2.6 a token that is no logout token of the provider for this client ends nothing', async () => {
    const { isAlive } = await session({ sub: 'viv-1', sid: 'sid-viv' });
    const valid = { aud: 'login', sub: 'viv-1', sid: 'sid-viv' };
    const now = Math.floor(Date.now() / 1000);
    const wrong = [
      await company.logoutToken({ ...valid, iss: 'https://other.example' }),
      await company.logoutToken({ ...valid, aud: 'another' }),
      await company.logoutToken({ ...valid, aud: undefined }),
      await company.logoutToken({ ...valid, nonce: 'n' }),
      await company.logoutToken({ ...valid, events: undefined }),
      await company.logoutToken({ ...valid, events: {} }),
      await company.logoutToken({
        ...valid,
        events: { 'http://schemas.openid.net/event/backchannel-logout': true },
      }),
      await company.logoutToken({ ...valid, sub: undefined, sid: undefined }),
      await company.logoutToken({ ...valid, jti: undefined }),
      await company.logoutToken({ ...valid, iat: undefined }),
      await company.logoutToken({ ...valid, iat: now - 600 }),
      await company.logoutToken({ ...valid, iat: now + 600 }),
      await company.logoutToken({ ...valid, exp: now - 60 }),
      await company.logoutToken(valid, { typ: 'at+jwt' }),
      await company.logoutToken(valid, {}, true),
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await company.logoutToken(valid)).split('.')[1]}.`,
      'not a token',
      '',
    ];
    for (const [index, token] of wrong.entries()) {
      const response = await logOut(token);
      assert.deepEqual(
        [response.status, await response.json()],
        [400, { error: 'invalid_request' }],
        `token ${index}`,
      );
    }
    assert.equal((await logOut(await company.logoutToken(valid), 'oidc-provider')).status, 400);
    assert.equal((await logOut(await company.logoutToken(valid), 'nowhere')).status, 404);
    assert.deepEqual(await isAlive(), ALIVE);
  });

  test('§2.6 a replayed logout token is refused, and does not end a later session', async () => {
    const first = await session({ sub: 'wim-1' });
    const token = await company.logoutToken({
      aud: 'login',
      sub: 'wim-1',
      iat: Math.floor(Date.now() / 1000) - 100,
    });
    assert.equal((await logOut(token)).status, 200);
    // The session is younger than the token, as after a later sign-in.
    assert.deepEqual(await first.isAlive(), ALIVE);
    const current = await company.logoutToken({ aud: 'login', sub: 'wim-1' });
    assert.deepEqual([(await logOut(current)).status, await first.isAlive()], [200, ENDED]);
    const later = await session({ sub: 'wim-1' });
    assert.equal((await logOut(current)).status, 400);
    assert.equal((await logOut(token)).status, 400);
    assert.deepEqual(await later.isAlive(), ALIVE);
  });

  test('an outage of the provider is 503 to its logout token, and the token works afterwards', async () => {
    const { isAlive } = await session({ sub: 'xia-1' });
    const folder = server.folder;
    await server.stop();
    server = await workbench.start(
      folder,
      ['--demo', '--providers', 'providers.json', '--port', String(server.port)],
      { PROVIDER_SECRET: SECRET },
    );
    const token = await company.logoutToken({ aud: 'login', sub: 'xia-1' });
    company.outage = 503;
    const refused = await logOut(token);
    company.outage = undefined;
    assert.deepEqual(
      [refused.status, refused.headers.get('retry-after'), await isAlive()],
      [503, '10', ALIVE],
    );
    assert.deepEqual([(await logOut(token)).status, await isAlive()], [200, ENDED]);
  });

  test('a sign-in page during an outage of a provider is whole, and a password works', async () => {
    company.outage = 500;
    try {
      const browser = new Browser(server.url);
      const page = await browser.get(authorizationUrl(server.url, newPkce(), { login_hint: 'alice' }));
      assert.match(page.html, /id="password"[\s\S]*id="provider-company"/);
      const left = await signInAndConsent(browser, authorizationUrl(server.url, newPkce()));
      assert.ok(left.searchParams.has('code'));
    } finally {
      company.outage = undefined;
    }
  });

  test('sign_out: false leaves the session at the provider alone', async () => {
    const { browser, isAlive } = await session({ sub: 'yan-1' });
    const page: Page = await press(browser, await browser.get(`${server.url}/logout`), 'logout-yes');
    assert.equal(new URL(page.url).origin, server.url);
    assert.deepEqual(await isAlive(), ENDED);
  });
});
