import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { readSecretFile } from '../src/data/secrets.ts';
import { PendingRequests } from '../src/pages/browser/pending.ts';
import { COPY_SCRIPT } from '../src/pages/drawing/copying.ts';
import { REVEAL_SCRIPT } from '../src/pages/drawing/fields.ts';
import { ADDRESS_SCRIPT, SEND_SCRIPT } from '../src/pages/drawing/layout.ts';
import {
  ALICE,
  Browser,
  formAction,
  hiddenFields,
  isConsent,
  isLogin,
  signInAndConsent,
} from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { environmentOf, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, redeem } from './harness/protocol.ts';
import { answerTo } from './harness/wire.ts';

function sourcesOf(scripts: readonly string[]): string {
  if (scripts.length === 0) return '';
  const sources = scripts.map((one) => `'sha256-${createHash('sha256').update(one).digest('base64')}'`);
  return `script-src ${sources.join(' ')}; `;
}

for (const database of ANY_DATABASE) {
  describe(`signing in and consenting on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    const pkce = newPkce();
    const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
      authorizationUrl(server.url, pkce, parameters);

    async function signedIn(): Promise<Browser> {
      const browser = new Browser(server.url);
      await signInAndConsent(browser, urlWith());
      return browser;
    }

    /** As if every user had signed in a second earlier. */
    async function signInLiesBack(): Promise<void> {
      const sessions = `${database.schema}sessions`;
      await database.run(server.folder, `UPDATE ${sessions} SET signed_in_at_ms = signed_in_at_ms - 1000`);
    }

    async function idTokenFrom(callback: URL): Promise<Record<string, unknown>> {
      const fields = {
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code') ?? '',
        redirect_uri: 'http://localhost:4001/callback',
        code_verifier: pkce.verifier,
      };
      const response = await postForm(`${server.url}/token`, fields, basic('demo-web', 'demo-web-secret'));
      const tokens = (await response.json()) as { id_token: string; access_token: string };
      assert.equal(response.status, 200, JSON.stringify(tokens));
      return { ...JSON.parse(atob(tokens.id_token.split('.')[1] ?? '')), accessToken: tokens.access_token };
    }

    test('leads back to the client with a code, the state and the issuer', async () => {
      const callback = await signInAndConsent(new Browser(server.url), urlWith());
      assert.equal(callback.origin + callback.pathname, 'http://localhost:4001/callback');
      assert.deepEqual([...callback.searchParams.keys()].sort(), ['code', 'iss', 'state']);
      assert.equal(callback.searchParams.get('state'), 'state-1');
      assert.equal(callback.searchParams.get('iss'), server.url);
    });

    test('a parameter that only the server’s own addresses have is not the client’s', async () => {
      const page = await new Browser(server.url).get(urlWith({ pending: 'x' }));
      assert.ok(isLogin(page), page.html);
    });

    test('puts into the tokens how and when the user signed in', async () => {
      const {
        amr,
        auth_time: authTime,
        accessToken,
      } = await idTokenFrom(await signInAndConsent(new Browser(server.url), urlWith()));
      assert.deepEqual(amr, ['pwd']);
      assert.ok(Math.abs(Number(authTime) - Date.now() / 1000) < 20);
      assert.equal((await introspect(server.url, String(accessToken))).username, 'alice');
      const explained = await grantdPrints(server.folder, [
        'token',
        'explain',
        '--json',
        String(accessToken),
      ]);
      assert.match(JSON.parse(explained).record.session_id, /^[\w-]{22}$/);
    });

    test('a POST of the request works as a GET does (OpenID Connect Core §3.1.2.1)', async () => {
      const url = new URL(urlWith());
      const page = await new Browser(server.url).post(
        `${server.url}/authorize`,
        Object.fromEntries(url.searchParams),
      );
      assert.ok(isLogin(page));
    });

    test('pages are plain forms with labels, run no script but their own, and are neither kept nor framed', async () => {
      const browser = new Browser(server.url);
      const login = await browser.get(urlWith({ login_hint: '<b>"alice"</b>', prompt: 'consent' }));
      assert.match(login.html, /<label for="username">/);
      assert.match(login.html, /<input id="password" name="password" type="password"/);
      assert.match(login.html, /value="&lt;b&gt;&quot;alice&quot;&lt;\/b&gt;"/);
      const consent = await browser.submit(login, { ...ALICE });
      assert.match(consent.html, /Demo web application/);
      const problem = await browser.get(`${server.url}/nothing`);
      for (const [page, formAction, scripts] of [
        [login, '', [ADDRESS_SCRIPT, REVEAL_SCRIPT, SEND_SCRIPT]],
        [consent, '', [SEND_SCRIPT]],
        [problem, "form-action 'self'; ", [COPY_SCRIPT]],
      ] as const) {
        const policy = page.headers.get('content-security-policy') ?? '';
        const [, hash = ''] = /style-src ('sha256-[\w+/=]+')/.exec(policy) ?? [];
        assert.equal((page.html.match(/<script/g) ?? []).length, scripts.length);
        assert.equal(
          policy,
          `default-src 'none'; ${sourcesOf(scripts)}style-src ${hash}; img-src 'self' data:; ${formAction}` +
            "frame-ancestors 'none'; base-uri 'none'",
        );
        assert.equal(page.headers.get('x-frame-options'), 'DENY');
        assert.equal(page.headers.get('cache-control'), 'no-store');
        assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
        assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      }
    });

    /** The URL of a page as if its request had begun earlier. */
    async function olderBy(hours: number, url: string): Promise<string> {
      const { GRANTD_SECRET: inVariable } = environmentOf(server.folder);
      const secrets = inVariable ?? readSecretFile(join(server.folder, 'grantd-data', 'grantd.db')) ?? [];
      const requests = new PendingRequests(new ServerSecret(secrets), Date.now);
      const older = new URL(url);
      const pending = await requests.open(older.searchParams.get('pending') ?? '');
      assert.ok(pending);
      const begunAtMs = pending.begunAtMs - hours * 60 * 60 * 1000;
      const { authorization_request_id: id = '', ...rest } =
        'parameters' in pending ? pending.parameters : {};
      // It begins with its deadline.
      const olderId = id.replace(/^\d+/, (deadline) => String(Number(deadline) - hours * 60 * 60));
      const parameters = { ...rest, ...(id !== '' && { authorization_request_id: olderId }) };
      const sealed = await requests.seal({
        ...pending,
        begunAtMs,
        ...('parameters' in pending && { parameters }),
      });
      older.searchParams.set('pending', sealed ?? '');
      return older.href;
    }

    test('a page that was left open for hours takes the right password, and the user’s answer', async () => {
      const { who, browser } = await newPerson(server, 'olga');
      const begun = await browser.get(urlWith());
      const login = await browser.get(await olderBy(5, begun.url));
      const wrong = await browser.submit(login, { ...who, password: 'wrong' });
      assert.match(wrong.html, /Wrong username or password/);
      const signedIn = await browser.submit(login, who);
      assert.ok(isConsent(signedIn));
      const consent = await browser.get(await olderBy(5, signedIn.url));
      const left = await browser.submit(consent, { decision: 'allow' });
      assert.ok(new URL(left.url).searchParams.has('code'), left.url);

      const other = new Browser(server.url);
      const account = await other.get(`${server.url}/account`);
      const late = await other.get(await olderBy(1000, account.url));
      assert.equal((await other.submit(late, who)).url, `${server.url}/account`);
      const question = await other.get(`${server.url}/logout`);
      const old = await other.get(await olderBy(1000, new URL(formAction(question), server.url).href));
      assert.match((await other.submit(old, { decision: 'yes' })).html, /You are signed out/);
    });

    test('a sign-in for a request counts for an hour, and a request for a day', async () => {
      const { who, browser } = await newPerson(server, 'otto');
      const begun = await browser.get(urlWith({ prompt: 'login consent' }));
      const signedIn = await browser.submit(begun, who);
      assert.ok(isConsent(signedIn));
      assert.ok(isConsent(await browser.get(await olderBy(0.9, signedIn.url))));
      const late = await browser.get(await olderBy(1, signedIn.url));
      assert.match(late.html, /id="login-submit"/, 'prompt=login needs another sign-in');
      const yesterday = await browser.get(await olderBy(24, begun.url));
      assert.equal(yesterday.status, 400);
      assert.match(yesterday.html, /Please start again/);
    });

    test('cookies are kept from scripts and other sites', async () => {
      const browser = new Browser(server.url);
      const login = await browser.get(urlWith());
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(new URL(formAction(login), server.url), {
        method: 'POST',
        headers: { cookie },
        body: new URLSearchParams({ ...hiddenFields(login), ...ALICE }),
        redirect: 'manual',
      });
      const [line = ''] = response.headers.getSetCookie();
      assert.match(line, /^grantd_session=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
    });

    test('cookies of an https issuer are bound to its host and to TLS, and named by its path', async () => {
      for (const [path, name] of [
        ['', '__Host-grantd_browser'],
        ['/tenant', '__Host-[\\w-]{8}_grantd_browser'],
      ] as const) {
        const args = ['--issuer', `https://localhost${path}`, '--demo'];
        const own = await workbench.start(await workbench.home(), args);
        const { searchParams } = new URL(urlWith());
        const url = `${own.url}${path}/authorize?${searchParams}`;
        const first = await fetch(url, { redirect: 'manual' });
        const page = await fetch(new URL(first.headers.get('location') ?? '', url));
        const [line = ''] = page.headers.getSetCookie();
        assert.match(
          line,
          new RegExp(`^${name}=[^;]+; Max-Age=\\d+; Path=/; HttpOnly; Secure; SameSite=Lax$`),
          path,
        );
      }
    });

    test('a wrong password and an unknown name get the same page', async () => {
      const attempt = async (username: string) => {
        const browser = new Browser(server.url);
        const page = await browser.submit(await browser.get(urlWith()), { username, password: 'not hers' });
        const withoutOwn = page.html.replaceAll(/(form_token" value|pending|username" value)=[^>]*/g, '');
        return { status: page.status, withoutOwn };
      };
      const [wrong, unknown] = [await attempt('alice'), await attempt('nobody')];
      assert.equal(wrong.status, 403);
      assert.match(wrong.withoutOwn, /Wrong username or password/);
      assert.deepEqual(wrong, unknown);
    });

    test('a form for another browser, or for no browser, is refused', async () => {
      const browser = new Browser(server.url);
      const login = await browser.get(urlWith());
      const stranger = new Browser(server.url);
      assert.equal((await stranger.submit(login, { ...ALICE })).status, 403);
      await stranger.get(urlWith());
      assert.equal((await stranger.submit(login, { ...ALICE })).status, 403);
      assert.equal((await browser.submit(login, { ...ALICE, form_token: '' })).status, 403);
      assert.equal(stranger.cookies.has('grantd_session'), false);
    });

    test('a consent form is valid for its own request only', async () => {
      const browser = await signedIn();
      const [wide, narrow] = [
        await browser.get(urlWith({ prompt: 'consent' })),
        await browser.get(urlWith({ prompt: 'consent', scope: 'openid' })),
      ];
      const forged = await browser.submit(wide, {
        form_token: hiddenFields(narrow).form_token ?? '',
        decision: 'allow',
      });
      assert.equal(forged.status, 403);
      assert.match(forged.html, /not created for this browser/);
    });

    test('a request that did not begin here is refused', async () => {
      const made = { kind: 'authorization', parameters: { client_id: 'demo-web' }, begunAtMs: Date.now() };
      const pending = Buffer.from(JSON.stringify(made));
      const page = await new Browser(server.url).get(
        `${server.url}/login?pending=${pending.toString('base64url')}.x`,
      );
      assert.equal(page.status, 400);
      assert.match(page.html, /did not start from an application/);
    });

    test('denied consent is access_denied at the client', async () => {
      const browser = await signedIn();
      const left = new URL(
        (await browser.submit(await browser.get(urlWith({ prompt: 'consent' })), { decision: 'deny' })).url,
      );
      assert.equal(left.origin, 'http://localhost:4001');
      assert.equal(left.searchParams.get('error'), 'access_denied');
      assert.equal(left.searchParams.get('state'), 'state-1');
      assert.equal(left.searchParams.get('code'), null);
    });

    test('a signed-in user is asked only for consent, with prompt=login for the password too', async () => {
      const browser = await signedIn();
      assert.ok(isConsent(await browser.get(urlWith({ prompt: 'consent' }))));
      const login = await browser.get(urlWith({ prompt: 'login consent' }));
      assert.ok(isLogin(login));
      assert.match(login.html, /<input id="username" name="username" value="alice"[^>]* readonly/);
      for (const page of ['/consent?', '/authorize?'])
        assert.ok(
          isLogin(await browser.get(login.url.replace('/login?', page))),
          'the form cannot be skipped',
        );
      assert.ok(isConsent(await browser.submit(login, { ...ALICE })));
    });

    test('max_age asks for the password once if the last sign-in is too long ago', async () => {
      const browser = await signedIn();
      assert.ok(isConsent(await browser.get(urlWith({ max_age: '60', prompt: 'consent' }))));
      await signInLiesBack();
      const login = await browser.get(urlWith({ max_age: '0', prompt: 'consent' }));
      assert.ok(isLogin(login));
      assert.ok(isConsent(await browser.submit(login, { ...ALICE })));
    });

    test('a sign-in for another request does not count if a request requires its own', async () => {
      for (const parameters of [{ prompt: 'login' }, { max_age: '0' }]) {
        const { searchParams } = new URL((await new Browser(server.url).get(urlWith(parameters))).url);
        await signInLiesBack();
        const browser = await signedIn(); // after the request has begun
        await signInLiesBack();
        for (const page of ['authorize', 'login', 'consent']) {
          const asked = await browser.get(`${server.url}/${page}?pending=${searchParams.get('pending')}`);
          assert.ok(isLogin(asked), `${JSON.stringify(parameters)} at ${page}`);
        }
      }
      const { url: begun } = await (await signedIn()).get(urlWith({ prompt: 'select_account' }));
      const later = await signedIn();
      const choice = await later.get(begun.replace('/select?', '/authorize?'));
      assert.match(choice.html, /id="account-continue"/);
      const left = await later.submit(choice, { account: 'continue' });
      assert.notEqual(new URL(left.url).origin, server.url);
    });

    test('prompt=none shows no page: login_required, or consent_required with a signed-in user', async () => {
      const errorFor = async (browser: Browser, parameters = {}) =>
        new URL((await browser.get(urlWith({ prompt: 'none', ...parameters }))).url).searchParams.get(
          'error',
        );
      assert.equal(await errorFor(new Browser(server.url)), 'login_required');
      const browser = await signedIn();
      assert.equal(await errorFor(browser, { scope: 'openid phone' }), 'consent_required');
      await signInLiesBack();
      assert.equal(await errorFor(browser, { max_age: '0' }), 'login_required');
      assert.equal(await errorFor(browser), null);
    });

    test('an unknown client or redirect URI gets a page and no redirect', async () => {
      for (const parameters of [{ client_id: 'unknown' }, { redirect_uri: 'https://attacker.example/' }]) {
        const page = await new Browser(server.url).get(urlWith(parameters));
        assert.equal(page.status, 400);
        assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
        assert.doesNotMatch(page.html, /attacker|unknown-/);
      }
    });

    test('other errors of a client are returned to the client', async () => {
      const left = new URL(
        (await new Browser(server.url).get(urlWith({ code_challenge_method: 'plain' }))).url,
      );
      assert.equal(left.origin, 'http://localhost:4001');
      assert.equal(left.searchParams.get('error'), 'invalid_request');
    });

    test('a disabled user cannot sign in, their session is void, and stays void when they are enabled', async () => {
      const carol = { username: 'carol', password: 'correct horse' };
      await grantdPrints(server.folder, ['user', 'add', carol.username, '--password-stdin'], carol.password);
      const browser = new Browser(server.url);
      const consent = await browser.submit(await browser.get(urlWith()), carol);
      assert.ok(isConsent(consent));

      await grantdPrints(server.folder, ['user', 'disable', 'carol']);
      assert.ok(
        isLogin(await browser.submit(consent, { decision: 'allow' })),
        'no code for the form that was open',
      );
      const refused = await browser.submit(await browser.get(urlWith()), carol);
      assert.equal(refused.status, 403);
      assert.match(refused.html, /This account is disabled/);

      await grantdPrints(server.folder, ['user', 'enable', 'carol']);
      assert.ok(isLogin(await browser.get(urlWith())));
      assert.ok(isConsent(await browser.submit(await browser.get(urlWith()), carol)));
    });

    test('token revoke --user ends the user’s sessions in browsers as well', async () => {
      const browser = await signedIn();
      assert.ok(!isLogin(await browser.get(urlWith())));
      await grantdPrints(server.folder, ['token', 'revoke', '--user', 'alice']);
      assert.ok(isLogin(await browser.get(urlWith())));
    });

    /** The response to a form that is sent in two chunks. */
    function chunked(path: string, form: string, browser = new Browser(server.url)): Promise<string> {
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const chunks = [form.slice(0, 10), form.slice(10)].map(
        (chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`,
      );
      return answerTo(
        server.port,
        `POST ${path} HTTP/1.1\r\nHost: localhost:${server.port}\r\nCookie: ${cookie}\r\nConnection: close\r\n` +
          'Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n' +
          `${chunks.join('')}0\r\n\r\n`,
      );
    }

    test('forms in chunks work as others do, also those that are too long', async () => {
      const browser = new Browser(server.url);
      const begun = await chunked('/authorize', new URL(urlWith()).searchParams.toString());
      assert.match(begun, /^HTTP\/1\.1 303 /);
      assert.match(begun, /\r\nlocation: \/authorize\?pending=[\w-]+\r\n/i);

      const login = await browser.get(urlWith({ prompt: 'consent' }));
      const fields = new URLSearchParams({ ...hiddenFields(login), ...ALICE }).toString();
      const signedIn = await chunked(formAction(login), fields, browser);
      assert.match(signedIn, /^HTTP\/1\.1 303 /);

      const [, session = ''] = /\r\nset-cookie: grantd_session=([^;]+)/i.exec(signedIn) ?? [];
      browser.cookies.set('grantd_session', session);
      const consent = await browser.get(urlWith({ prompt: 'consent' }));
      const allowed = new URLSearchParams({ ...hiddenFields(consent), decision: 'allow' }).toString();
      assert.match(await chunked(formAction(consent), allowed, browser), /\r\nlocation: [^\r]*[?&]code=/i);

      for (const path of ['/authorize', '/login', '/consent'])
        assert.match(await chunked(path, 'x'.repeat(70_000)), /^HTTP\/1\.1 413 /);
    });

    test('a body of more than 64 KiB is 413', async () => {
      for (const path of ['/authorize', '/login', '/consent']) {
        const statusFor = async (characters: number) =>
          (await postForm(`${server.url}${path}`, { x: 'x'.repeat(characters) })).status;
        assert.deepEqual([await statusFor(65_534), await statusFor(65_535)], [400, 413], path);
      }
    });

    test('HEAD is answered, and changes nothing: no code, and the session stays', async () => {
      const browser = new Browser(server.url);
      const { id_token: hint = '' } = await redeem(
        server.url,
        pkce,
        await signInAndConsent(browser, urlWith({ scope: 'openid' })),
      );
      const head = (path: string) =>
        fetch(new URL(path, server.url), {
          ...{ method: 'HEAD', redirect: 'manual' },
          headers: { cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; ') },
        });
      const first = await head(urlWith({ scope: 'openid' }));
      const next = first.headers.get('location') ?? '';
      assert.match(next, /^\/authorize\?pending=/);
      const second = await head(next);
      assert.deepEqual([first.status, second.status], [303, 303]);
      assert.match(second.headers.get('location') ?? '', /^\/authorize\?pending=/);
      assert.equal((await head('/authorize')).status, 400);
      assert.equal((await head(`/logout?id_token_hint=${hint}`)).status, 200);
      const { url } = await browser.get(urlWith({ scope: 'openid', prompt: 'none' }));
      assert.ok(new URL(url).searchParams.has('code'), url);
    });

    test('a program gets JSON from a path without an endpoint, a browser a page', async () => {
      for (const [accept, type] of [
        ['application/json', 'application/json'],
        ['application/json, text/plain, */*', 'application/json'],
        ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html; charset=UTF-8'],
        ['text/html', 'text/html; charset=UTF-8'],
        ['application/json, text/html;q=0.5', 'application/json'],
        ['*/*', 'application/json'],
      ] as const)
        for (const path of ['/token/', '/userinfo/', '/no/such/endpoint']) {
          for (const method of ['GET', 'POST']) {
            const response = await fetch(`${server.url}${path}`, { method, headers: { accept } });
            assert.deepEqual(
              [response.status, response.headers.get('content-type')],
              [404, type],
              `${method} ${path} ${accept}`,
            );
            assert.equal(response.headers.get('cache-control'), 'no-store');
            if (type === 'application/json') assert.equal((await response.json()).error, 'invalid_request');
          }
        }
    });

    test('other methods are 405, with the allowed ones', async () => {
      for (const [path, allow] of [
        ['/', 'GET, HEAD'],
        ['/logo', 'GET, HEAD'],
        ['/authorize', 'GET, HEAD, POST'],
        ['/login', 'GET, HEAD, POST'],
        ['/consent', 'GET, HEAD, POST'],
      ] as const) {
        for (const method of ['OPTIONS', 'DELETE', 'PUT']) {
          const response = await fetch(`${server.url}${path}`, { method });
          assert.deepEqual(
            [response.status, response.headers.get('allow')],
            [405, allow],
            `${method} ${path}`,
          );
          assert.equal(response.headers.get('cache-control'), 'no-store');
        }
      }
    });

    test('a client that is disabled meanwhile gets no code', async () => {
      const add = [
        'client',
        'add',
        'brief',
        '--public',
        '--redirect-uri',
        'https://brief.example/cb',
        '--scope',
        'openid',
      ];
      await grantd(server.folder, add);
      const browser = await signedIn();
      const parameters = { client_id: 'brief', redirect_uri: 'https://brief.example/cb', scope: 'openid' };
      const consent = await browser.get(urlWith(parameters));
      await grantd(server.folder, ['client', 'disable', 'brief']);
      const page = await browser.submit(consent, { decision: 'allow' });
      assert.equal(page.status, 400);
      assert.match(page.html, /the client is disabled/);
    });

    test('an error page says why in the reader’s language, and has a way on', async () => {
      const browser = new Browser(server.url, { 'accept-language': 'de' });
      for (const [url, german, english] of [
        [
          urlWith({ client_id: 'nobody' }),
          'Die Anwendung ist hier nicht registriert.',
          'the client is unknown',
        ],
        [
          urlWith({ redirect_uri: 'https://attacker.example/' }),
          'Die Rückkehradresse ist für die Anwendung nicht registriert.',
          'the redirect_uri is not registered for this client',
        ],
        [
          `${server.url}/authorize`,
          'In der Anfrage fehlt etwas, das erforderlich ist.',
          'the parameter client_id is missing',
        ],
      ] as const) {
        const { status, html } = await browser.get(url);
        assert.equal(status, 400);
        assert.ok(html.includes(`<p id="reason">${german}</p>`), html);
        const [inSight = '', details = ''] = html.split('<details class="developers">');
        assert.ok(!inSight.includes(english), 'English is for developers');
        assert.ok(details.includes(`<dd lang="en">${english}</dd>`), html);
      }
      for (const path of ['/nowhere', '/login?pending=over', '/authorize']) {
        const { html } = await browser.get(`${server.url}${path}`);
        assert.match(html, /<a id="to-home" href="\/">Startseite<\/a>/);
        assert.match(html, /<a id="to-account" href="\/account">Ihr Konto<\/a>/);
      }
    });

    test('an error page leads back to an application that the operator added', async () => {
      await grantdPrints(server.folder, [
        'client',
        'update',
        'demo-web',
        '--client-uri',
        'https://web.example/',
      ]);
      const browser = new Browser(server.url);
      const login = await browser.get(urlWith());
      const { html } = await browser.submit(login, { form_token: 'x' });
      assert.match(
        html,
        /<a id="to-application" class="button" href="https:\/\/web\.example\/" rel="noreferrer">/,
      );
      assert.ok(html.includes(`<a id="try-again" class="button primary" href="${formAction(login)}">`), html);
    });

    test('a session’s cookie is random and says nothing; another one is no session', async () => {
      const browser = await signedIn();
      const cookie = browser.cookies.get('grantd_session') ?? '';
      assert.match(cookie, /^[\w-]{43}$/);
      browser.cookies.set(
        'grantd_session',
        cookie.startsWith('A') ? `B${cookie.slice(1)}` : `A${cookie.slice(1)}`,
      );
      assert.ok(isLogin(await browser.get(urlWith())));
    });
  });
}
