// The sign-in page as the direct answer to an authorization request (ADR 211).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ALICE, Browser, isConsent, isLogin, type Page, signInAndConsent } from './harness/browser.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

describe('the sign-in page answers an authorization request', () => {
  const workbench = new Workbench(ANY_DATABASE[0]);
  after(() => workbench.clear());
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(await workbench.home(), ['--demo']);
  });
  const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
    authorizationUrl(server.url, newPkce(), parameters);
  const usernameIn = ({ html }: Page) =>
    /<input id="username" name="username" value="([^"]*)"/.exec(html)?.[1];

  test('in one response, with its own address, which shows the same page', async () => {
    const browser = new Browser(server.url);
    const response = await browser.send(urlWith(), {});
    assert.deepEqual([response.status, response.headers.get('location')], [200, null]);
    const page = await browser.get(urlWith({ login_hint: 'alice' }));
    assert.match(page.url, new RegExp(`^${server.url}/login\\?pending=[\\w-]+$`));
    const again = await browser.get(page.url);
    assert.equal(again.url, page.url);
    assert.doesNotMatch(again.html, /rel="canonical"/);
    assert.deepEqual([usernameIn(page), usernameIn(again)], ['alice', 'alice']);
    assert.ok(isConsent(await browser.submit(again, { ...ALICE })));
  });

  test('its links to other languages lead to the same request, also at the address of the application', async () => {
    const browser = new Browser(server.url);
    const from = urlWith({ state: 'kept' });
    const page = await browser.get(from);
    const [, link = ''] = /<a id="language-de" href="([^"]*)"/.exec(page.html) ?? [];
    const query = link.replaceAll('&amp;', '&');
    assert.match(query, /^\?pending=[\w-]+&ui_language=de$/);
    // Without scripts, the browser still has the address of the application's request.
    for (const address of [page.url, from]) {
      const german = await browser.get(new URL(query, address).href);
      assert.match(german.html, /<html lang="de">/);
      const consent = await browser.submit(german, { ...ALICE });
      const left = await browser.submit(consent, { decision: 'deny' });
      if (address === page.url) assert.equal(new URL(left.url).searchParams.get('state'), 'kept', left.html);
      browser.cookies.delete('grantd_session');
    }
  });

  test('parameters of the application are not taken for parameters of the page', async () => {
    const page = await new Browser(server.url).get(urlWith({ login_hint: 'alice', other: '', password: '' }));
    assert.equal(usernameIn(page), 'alice');
    assert.doesNotMatch(page.html, /action="[^"]*other/);
  });

  test('a user who is signed in, and a client that allows no page, get no sign-in page', async () => {
    const browser = new Browser(server.url);
    const refused = await browser.get(urlWith({ prompt: 'none' }));
    assert.equal(new URL(refused.url).searchParams.get('error'), 'login_required');
    await signInAndConsent(browser, urlWith());
    assert.ok(new URL((await browser.get(urlWith())).url).searchParams.has('code'));
    const consent = await browser.get(urlWith({ prompt: 'consent' }));
    assert.ok(isConsent(consent));
    const asked = await browser.get(urlWith({ prompt: 'login' }));
    assert.ok(isLogin(asked) && asked.url.startsWith(`${server.url}/login?`));
  });

  test('the form of the page that one browser gets belongs to it alone', async () => {
    const page = await new Browser(server.url).get(urlWith());
    const refused = await new Browser(server.url).submit(page, { ...ALICE });
    assert.equal(refused.status, 403);
  });
});
