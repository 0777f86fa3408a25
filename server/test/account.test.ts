import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  Browser,
  formAction,
  hiddenFields,
  isConsent,
  isLogin,
  type Page,
  signInAndConsent,
} from './harness/browser.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, postForm, redeem, userInfo } from './harness/protocol.ts';

for (const database of ANY_DATABASE) {
  describe(`the account on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    const pkce = newPkce();
    const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
      authorizationUrl(server.url, pkce, parameters);
    const account = () => `${server.url}/account`;

    /** Tokens of `demo-web` for a user who signs in with a browser. */
    async function tokensBy(browser: Browser, who: { username: string; password: string }, scope = 'openid') {
      return redeem(server.url, pkce, await signInAndConsent(browser, urlWith({ scope }), who));
    }

    const isActive = async (token = '') => (await introspect(server.url, token)).active;

    /** Submits the page's form with one of its buttons. */
    function press(browser: Browser, page: Page, id: string): Promise<Page> {
      const pattern = new RegExp(`<button id="${id}" type="submit" name="([^"]*)" value="([^"]*)"`);
      const [, name = '', value = ''] =
        pattern.exec(page.html) ?? assert.fail(`no button ${id}: ${page.html}`);
      return browser.submit(page, { [name]: value });
    }

    test('a user signs in to it, and then sees it', async () => {
      const { who, browser } = await newPerson(server, 'ada');
      const login = await browser.get(account());
      assert.ok(isLogin(login));
      const page = await browser.submit(login, who);
      assert.equal(page.url, account());
      assert.match(page.html, /ada/);
      assert.match(page.html, /No application has access/);
      assert.match(page.html, /This browser/);
      assert.equal((await browser.get(login.url)).url, account(), 'nobody signs in twice');
    });

    test('one click ends access: all its tokens are dead at once, and consent is required again', async () => {
      const { who, browser } = await newPerson(server, 'bea');
      const tokens = await tokensBy(browser, who, 'openid profile offline_access');
      const others = await tokensBy(new Browser(server.url), (await newPerson(server, 'bob')).who);
      const page = await browser.get(account());
      assert.match(page.html, /Demo web application/);
      const elsewhere = await browser.get(account());
      const after = await press(browser, page, 'end-access-demo-web');
      assert.match(after.html, /id="notice"[\s\S]*Demo web application<\/bdi> no longer has access/);
      assert.match(after.html, /No application has access/);

      for (const token of [tokens.access_token, tokens.refresh_token])
        assert.equal(await isActive(token), false);
      assert.equal((await userInfo(server.url, tokens.access_token)).status, 401);
      assert.equal(await isActive(others.access_token), true);
      assert.ok(isConsent(await browser.get(urlWith({ scope: 'openid' }))));
      assert.equal((await press(browser, page, 'end-access-demo-web')).url, after.url, 'pressed twice');
      const again = await press(browser, elsewhere, 'end-access-demo-web');
      assert.match(again.html, /That had already ended/, 'from another window');
      await until(
        () => server.log().filter(({ event }) => event === 'consent_withdrawn').length === 1,
        'it is logged once',
      );
    });

    test('one session or all others are ended with their tokens, except offline ones', async () => {
      const { who, browser } = await newPerson(server, 'dora');
      const [second, third, fourth] = [
        new Browser(server.url),
        new Browser(server.url),
        new Browser(server.url),
      ];
      const mine = await tokensBy(browser, who);
      const tied = await tokensBy(second, who);
      const offline = await tokensBy(third, who, 'openid offline_access');
      const fourthTokens = await tokensBy(fourth, who);

      const page = await browser.get(account());
      const ids = [...page.html.matchAll(/<button id="end-session-([\w-]+)"/g)].map(([, id = '']) => id);
      assert.equal(ids.length, 4);
      const ended = await press(browser, page, `end-session-${ids[1]}`);
      assert.match(ended.html, /That browser is signed out/);
      assert.equal([...ended.html.matchAll(/<button id="end-session-/g)].length, 3);
      const alone = await press(browser, ended, 'end-other-sessions');
      assert.match(alone.html, /2 other browsers are signed out/);
      for (const other of [second, third, fourth]) assert.ok(isLogin(await other.get(account())));
      assert.deepEqual(
        await Promise.all([mine, tied, fourthTokens, offline].map((one) => isActive(one.access_token))),
        [true, false, false, true],
      );
      const nothing = await press(browser, page, 'end-other-sessions');
      assert.match(nothing.html, /That had already ended/);
    });

    test('the security page shows sign-ins and failed attempts of the account, and which of them go on', async () => {
      const { who, browser } = await newPerson(server, 'emma');
      const elsewhere = new Browser(server.url, { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' });
      const login = await elsewhere.get(account());
      const wrong = await elsewhere.submit(login, { ...who, password: 'guessed' });
      await elsewhere.submit(wrong, who);
      await browser.submit(await browser.get(account()), who);
      const shown = async () => {
        const { html } = await browser.get(`${account()}/security`);
        const [, section = ''] = /aria-labelledby="recent-sign-ins">([\s\S]*?)<\/section>/.exec(html) ?? [];
        return [...section.matchAll(/<h3>(.*?) <span class="badge (\w+)">[\s\S]*?"detail">([^<,]*)/g)].map(
          ([, ...parts]) => parts,
        );
      };
      const attempt = ['Firefox on Linux', 'failed', 'Wrong password'];
      assert.deepEqual(await shown(), [
        ['Unknown browser', 'current', 'With password'],
        ['Firefox on Linux', 'open', 'With password'],
        attempt,
      ]);
      await press(browser, await browser.get(account()), 'end-other-sessions');
      assert.deepEqual(await shown(), [
        ['Unknown browser', 'current', 'With password'],
        ['Firefox on Linux', 'ended', 'With password'],
        attempt,
      ]);
    });

    test('ending the session of this very browser signs out, and says so', async () => {
      const { who, browser } = await newPerson(server, 'eve');
      const tokens = await tokensBy(browser, who);
      const page = await browser.get(account());
      const [, id = ''] = /<button id="end-session-([\w-]+)"/.exec(page.html) ?? [];
      assert.match((await press(browser, page, `end-session-${id}`)).html, /<h1>You are signed out<\/h1>/);
      assert.ok(isLogin(await browser.get(account())));
      assert.equal(await isActive(tokens.access_token), false);
    });

    test('users cannot end each other’s sessions', async () => {
      const [fay, gwen] = [await newPerson(server, 'fay'), await newPerson(server, 'gwen')];
      await tokensBy(fay.browser, fay.who);
      await tokensBy(gwen.browser, gwen.who);
      const [, id = ''] =
        /<button id="end-session-([\w-]+)"/.exec((await fay.browser.get(account())).html) ?? [];
      const page = await gwen.browser.submit(await gwen.browser.get(account()), { end_session: id });
      assert.match(page.html, /That had already ended/);
      assert.equal((await fay.browser.get(account())).url, account());
    });

    test('an unknown identifier ends nothing, and is looked up nowhere', async () => {
      const { who, browser } = await newPerson(server, 'hal');
      await tokensBy(browser, who);
      const page = await browser.get(account());
      for (const name of ['a\0b', '\0', 'é', '']) {
        for (const field of ['end_access', 'end_session']) {
          const done = await browser.submit(page, { [field]: name });
          assert.deepEqual([done.status, /That had already ended/.test(done.html)], [200, true], field);
        }
      }
      assert.equal((await fetch(`${server.url}/logo?client=a%00b`)).status, 404);
    });

    test('nothing is done for a form that was not made for this browser and session', async () => {
      const { who, browser } = await newPerson(server, 'hope');
      const tokens = await tokensBy(browser, who);
      const fields = { end_access: 'demo-web' };
      assert.equal((await browser.post(account(), fields)).status, 403);
      const stranger = await newPerson(server, 'ivan');
      await tokensBy(stranger.browser, stranger.who);
      const foreign = hiddenFields(await stranger.browser.get(account()));
      assert.equal((await browser.post(account(), { ...foreign, ...fields })).status, 403);
      assert.equal(await isActive(tokens.access_token), true);
      assert.match((await browser.get(account())).html, /Demo web application/);
    });

    test('a notice in the URL is not shown unless this server made it', async () => {
      const { who, browser } = await newPerson(server, 'jane');
      await browser.submit(await browser.get(account()), who);
      const page = await browser.get(`${account()}?notice=session_ended`);
      assert.doesNotMatch(page.html, /role="status"/);
    });

    test('a GET changes nothing, and other methods are 405', async () => {
      const { who, browser } = await newPerson(server, 'kate');
      const tokens = await tokensBy(browser, who);
      await browser.get(`${account()}?end_access=demo-web`);
      assert.equal(await isActive(tokens.access_token), true);
      const response = await fetch(account(), { method: 'DELETE' });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, POST']);
      assert.equal((await postForm(account(), { x: 'x'.repeat(65_536) })).status, 413);
    });

    test('each page is reached through the sign-in, and leads to the others', async () => {
      const { who } = await newPerson(server, 'mia');
      for (const path of ['/security', '/sessions', '/applications', '/data']) {
        const browser = new Browser(server.url);
        const page = await browser.submit(await browser.get(account() + path), who);
        assert.equal(page.url, account() + path);
        const links = [...page.html.matchAll(/<li><a href="([^"]*)"( aria-current="page")?>/g)];
        assert.deepEqual(
          links.map(([, href, current]) => [href, current !== undefined]),
          ['', '/security', '/sessions', '/applications', '/data'].map((one) => [
            `/account${one}`,
            one === path,
          ]),
        );
      }
    });

    test('its own page ends access after a question, and sessions at once', async () => {
      const { who, browser } = await newPerson(server, 'nora');
      const tokens = await tokensBy(browser, who);
      const second = new Browser(server.url);
      await tokensBy(second, who);
      const list = await browser.get(`${account()}/applications`);
      const [, href = ''] = /<a id="end-access-demo-web" class="button" href="([^"]*)"/.exec(list.html) ?? [];
      const question = await browser.get(server.url + href);
      assert.match(question.html, /End the access of [^?]*Demo web application[^?]*\?<\/h1>/);
      assert.equal(await isActive(tokens.access_token), true, 'nothing has happened yet');
      assert.match(question.html, /id="end-access-yes"/);
      const done = await browser.submit(question, { end_access: 'demo-web' });
      assert.match(done.html, /id="notice"[\s\S]*Demo web application<\/bdi> no longer has access/);
      assert.match(done.html, /No application has access/);
      assert.equal(done.url.split('?')[0], `${account()}/applications`);
      assert.equal(await isActive(tokens.access_token), false);

      const sessions = await browser.get(`${account()}/sessions`);
      for (const { html } of [sessions, await browser.get(`${account()}/security`)])
        assert.match(
          html,
          /(?:Signed in|With password,) <time [^>]*>just now<\/time> from the network <bdi>(127\.0\.0\.0\/24|0:0:0:0::\/56)<\/bdi>/,
        );
      assert.match(
        (await press(browser, sessions, 'end-other-sessions')).html,
        /1 other browser is signed out/,
      );
      assert.ok(isLogin(await second.get(account())));
    });

    test('the page is not cached or framed, and runs no script', async () => {
      const { who, browser } = await newPerson(server, 'lena');
      const page = await browser.submit(await browser.get(account()), who);
      assert.equal(formAction(page), '/account');
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /form-action 'self'; frame-ancestors 'none'/,
      );
      assert.equal(page.headers.get('cache-control'), 'no-store');
    });
  });
}
