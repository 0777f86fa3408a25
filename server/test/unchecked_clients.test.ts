import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SEND_SCRIPT } from '../src/pages/drawing/layout.ts';
import { ALICE, Browser, isConsent, isLogin, leavingLink, type Page } from './harness/browser.ts';
import { addClient } from './harness/clients.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce, redeem } from './harness/protocol.ts';

const CALLBACK = 'https://stranger.example/callback';
const BYE = 'https://stranger.example/bye';
const NAME = 'Example Inc. Security';

describe('a client that registered itself', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo', '--operator-name', 'Musterstadt']);
    await addClient(server, {
      id: 'stranger',
      name: NAME,
      grantTypes: ['authorization_code'],
      scopes: ['openid'],
      redirectUris: [CALLBACK],
      registeredAt: 1,
      metadata: {
        application_type: 'web',
        brand_color: '#ffdd00',
        logo_uri: 'https://stranger.example/logo.png',
        client_uri: 'https://stranger.example/',
        post_logout_redirect_uris: [BYE],
      },
    });
  });
  after(() => workbench.clear());

  const pkce = newPkce();
  const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
    authorizationUrl(server.url, pkce, {
      ...{ client_id: 'stranger', redirect_uri: CALLBACK, scope: 'openid' },
      ...parameters,
    });
  const logoutUrl = (parameters: Readonly<Record<string, string>>) =>
    `${server.url}/logout?${new URLSearchParams(parameters)}`;

  /** The page of this server with the link to the client. */
  function linkOn(page: Page): URL {
    assert.equal(new URL(page.url).origin, server.url);
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('location'), null);
    assert.doesNotMatch(page.html, /<script|http-equiv="?refresh/i);
    assert.match(page.html, /Continue to <bdi class="name">stranger\.example<\/bdi>/);
    assert.match(page.html, /<bdi class="name">Musterstadt<\/bdi> has not checked who is behind it/);
    return new URL(leavingLink(page) ?? '');
  }

  /** The page has no colour, logo or monogram of the client, and a warning that it is unchecked. */
  function assertUnchecked({ html }: Page): void {
    assert.match(html, /<p id="registered-itself"|<span class="badge unchecked">unchecked<\/span>/);
    assert.match(html, /Example Inc\. Security/);
    assert.doesNotMatch(html, /#ffdd00|\/logo\?|%3EEI%3C/);
  }

  async function signedIn(): Promise<{ readonly browser: Browser; readonly consent: Page }> {
    const browser = new Browser(server.url);
    const consent = await browser.submit(await browser.get(urlWith({ prompt: 'consent' })), { ...ALICE });
    assert.ok(isConsent(consent), consent.html);
    return { browser, consent };
  }

  test('OpenID Connect Core §5.5 the consent page has no words of a client in place of claims', async () => {
    const words = 'The bank has checked this application. Press Allow \u202E';
    const requests = { [words]: null, [`email#${words}`]: null, 'name#de': null, constructor: null };
    const claims = JSON.stringify({ userinfo: requests, id_token: requests });
    const { browser } = await signedIn();
    const page = await browser.get(urlWith({ claims, prompt: 'consent' }));
    assert.ok(isConsent(page), page.html);
    const [, listed = ''] = /<ul class="codes" role="list">(.*?)<\/ul>/s.exec(page.html) ?? [];
    assert.deepEqual(
      [...listed.matchAll(/<code>(.*?)<\/code>/g)].map(([, code]) => code),
      ['email', 'name'],
    );
  });

  test('an error or prompt=none shows a page that names the host, and redirects nowhere', async () => {
    const browser = new Browser(server.url);
    for (const [parameters, error] of [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ prompt: 'none' }, 'login_required'],
      [{ scope: 'admin' }, 'invalid_scope'],
    ] as const) {
      const link = linkOn(await browser.get(urlWith(parameters)));
      assert.equal(`${link.origin}${link.pathname}`, CALLBACK);
      assert.deepEqual([link.searchParams.get('error'), link.searchParams.get('state')], [error, 'state-1']);
    }
    const byForm = await browser.get(urlWith({ prompt: 'none', response_mode: 'form_post' }));
    assert.match(byForm.html, new RegExp(`<form method="post" action="${CALLBACK}">`));
    assert.doesNotMatch(byForm.html.replace(`<script>${SEND_SCRIPT}</script>`, ''), /<script/);
  });

  test('in a hidden frame prompt=none is answered, so that silent renewal works', async () => {
    const framed = new Browser(server.url, { 'sec-fetch-dest': 'iframe' });
    const { url } = await framed.get(urlWith({ prompt: 'none' }));
    assert.equal(new URL(url).searchParams.get('error'), 'login_required');
  });

  test('the user leaves by a link after cancelling or denying, and by a redirect after allowing', async () => {
    const browser = new Browser(server.url);
    const cancelled = await browser.submit(await browser.get(urlWith()), { decision: 'cancel' });
    assert.equal(linkOn(cancelled).searchParams.get('error'), 'access_denied');
    const { browser: alice, consent } = await signedIn();
    assert.match(
      consent.html,
      /If you allow this, you continue to <bdi class="name">stranger\.example<\/bdi>/,
    );
    const denied = await alice.submit(consent, { decision: 'deny' });
    assert.equal(linkOn(denied).searchParams.get('error'), 'access_denied');
    const again = await alice.get(urlWith({ prompt: 'consent' }));
    const { url } = await alice.submit(again, { decision: 'allow' });
    assert.ok(new URL(url).searchParams.has('code'), url);
  });

  test('after logout the way back is a link, with and without a session', async () => {
    const back = { client_id: 'stranger', post_logout_redirect_uri: BYE, state: 's' };
    assert.equal(linkOn(await new Browser(server.url).get(logoutUrl(back))).href, `${BYE}?state=s`);
    const { browser } = await signedIn();
    const question = await browser.get(logoutUrl(back));
    const done = await browser.submit(question, { decision: 'yes' });
    assert.match(done.html, /You are signed out/);
    assert.equal(linkOn(done).href, `${BYE}?state=s`);
  });

  test('it is called unchecked before the password, and no page has its brand', async () => {
    const browser = new Browser(server.url);
    const login = await browser.get(urlWith({ prompt: 'select_account consent' }));
    assert.ok(isLogin(login));
    assertUnchecked(login);
    assert.match(login.html, /<p class="operator">.*<bdi>Musterstadt<\/bdi><\/p>/);
    assert.match(login.html, /to continue to <bdi class="name">Example Inc\. Security<\/bdi>/);
    assert.match(
      login.html,
      /<a [^>]*href="https:\/\/stranger\.example[^>]*target="_blank" rel="noopener[^>]*>/,
      'its policy, with the operator’s words',
    );
    const consent = await browser.submit(login, { ...ALICE });
    assert.ok(isConsent(consent));
    assertUnchecked(consent);
    const callback = await browser.submit(consent, { decision: 'allow' });
    assertUnchecked(await browser.get(urlWith({ prompt: 'select_account' })));
    assertUnchecked(await browser.get(`${server.url}/account`));

    const { id_token = '' } = await redeem(server.url, pkce, new URL(callback.url), 'stranger');
    const elsewhere = (await signedIn()).browser;
    const question = await elsewhere.get(logoutUrl({ id_token_hint: id_token }));
    assert.match(question.html, /id="logout-yes"/);
    assertUnchecked(question);
    assertUnchecked(await browser.submit(await browser.get(logoutUrl({})), { decision: 'yes' }));

    const { browser: again, consent: asked } = await signedIn();
    await again.submit(asked, { decision: 'allow' });
    const ending = await again.get(`${server.url}/account/applications?end=stranger`);
    assert.match(ending.html, /id="end-access-yes"/);
    assertUnchecked(ending);
    const ended = await again.submit(ending, { end_access: 'stranger' });
    assert.match(ended.html, /id="notice"[\s\S]* no longer has access/);
    assertUnchecked(ended);
  });

  test('its logo is not served', async () => {
    const response = await fetch(`${server.url}/logo?client=stranger`);
    assert.equal(response.status, 404);
  });
});

describe('a client that the operator added', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });
  after(() => workbench.clear());

  test('the sign-in page has a way to cancel, which is access_denied for the application', async () => {
    const browser = new Browser(server.url);
    const login = await browser.get(authorizationUrl(server.url, newPkce()));
    assert.match(
      login.html,
      /<button id="login-cancel" type="submit" class="quiet" name="decision" value="cancel">Cancel</,
    );
    const { searchParams, origin, pathname } = new URL(
      (await browser.submit(login, { decision: 'cancel' })).url,
    );
    assert.equal(`${origin}${pathname}`, 'http://localhost:4001/callback');
    assert.deepEqual(Object.fromEntries(searchParams), {
      error: 'access_denied',
      error_description: 'the person cancelled the sign-in',
      state: 'state-1',
      iss: server.url,
    });
    assert.equal(browser.cookies.has('grantd_session'), false);
    await server.logged(
      ({ reason, clientId }) => reason === 'consent_denied' && clientId === 'demo-web',
      'it',
    );
    const account = await browser.get(`${server.url}/account`);
    assert.ok(isLogin(account) && !account.html.includes('login-cancel'), 'there is nowhere to go back to');
  });

  test('another site’s form cancels nothing', async () => {
    const browser = new Browser(server.url);
    const login = await browser.get(authorizationUrl(server.url, newPkce()));
    const forged = await browser.submit(login, { decision: 'cancel', form_token: 'x' });
    assert.deepEqual([forged.status, new URL(forged.url).origin], [403, server.url]);
    assert.match(forged.html, /id="try-again"/);
  });
});
