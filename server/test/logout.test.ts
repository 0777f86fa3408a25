// § refers to RP-Initiated Logout.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser, isLogin, type Page, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { type LogoutReceiver, openLogoutReceiver } from './harness/logout_receiver.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, payloadOf, redeem, type Tokens } from './harness/protocol.ts';

const BYE = 'http://localhost:4005/bye';

for (const database of ANY_DATABASE) {
  describe(`signing out on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let server: RunningServer;
    let receiver: LogoutReceiver;
    before(async () => {
      receiver = await openLogoutReceiver();
      server = await workbench.start(await workbench.home(), ['--demo', '--insecure-development']);
      const app = { name: 'shop', callback: 'http://localhost:4005/callback' };
      await grantdPrints(server.folder, [
        ...['client', 'add', app.name, '--public', '--name', 'The shop', '--redirect-uri', app.callback],
        ...['--scope', 'openid', '--scope', 'offline_access', '--application-type', 'web'],
        ...['--grant', 'authorization_code', '--grant', 'refresh_token'],
        ...['--post-logout-redirect-uri', BYE, '--backchannel-logout-uri', receiver.url],
        '--insecure-development',
      ]);
    });
    after(async () => {
      await workbench.clear();
      await receiver.close();
    });

    const pkce = newPkce();
    const SHOP = { client_id: 'shop', redirect_uri: 'http://localhost:4005/callback', scope: 'openid' };

    /** A signed-in user, with the tokens of `demo-web` and of `shop`. */
    async function signedIn(name: string) {
      const { who, browser } = await newPerson(server, name);
      const web = await redeem(
        server.url,
        pkce,
        await signInAndConsent(browser, authorizationUrl(server.url, pkce), who),
      );
      return { who, browser, web, shop: await shopTokens(browser) };
    }

    async function shopTokens(browser: Browser, scope = 'openid'): Promise<Tokens> {
      const page = await browser.get(authorizationUrl(server.url, pkce, { ...SHOP, scope }));
      const left = page.html.includes('consent-allow')
        ? await browser.submit(page, { decision: 'allow' })
        : page;
      return redeem(server.url, pkce, new URL(left.url), 'shop');
    }

    const logoutUrl = (parameters: Readonly<Record<string, string>> = {}) =>
      `${server.url}/logout?${new URLSearchParams(parameters)}`;
    const isQuestion = ({ html }: Page) => html.includes('id="logout-yes"');
    const isActive = async (token = '') => (await introspect(server.url, token)).active;
    const isSignedOut = async (browser: Browser) => isLogin(await browser.get(`${server.url}/account`));
    const heardOf = (sid: unknown) => receiver.heard.filter((token) => token.sid === sid);

    test('the user is asked, and nothing happens before they answer, or if they say no', async () => {
      const { browser, web } = await signedIn('ada');
      const question = await browser.get(logoutUrl());
      assert.ok(isQuestion(question));
      assert.match(question.html, /ada/);
      assert.equal(await isActive(web.access_token), true);
      const still = await browser.submit(question, { decision: 'no' });
      assert.match(still.html, /still signed in/);
      assert.equal(await isActive(web.access_token), true);

      const done = await browser.submit(question, { decision: 'yes' });
      assert.match(done.html, /You are signed out/);
      assert.match(done.html, /The shop/, 'who is being told');
      assert.equal(browser.cookies.has('grantd_session'), false);
      assert.equal(await isActive(web.access_token), false);
      assert.ok(await isSignedOut(browser));
      await until(
        () => server.log().some(({ event, subject }) => event === 'signed_out' && subject !== undefined),
        'it is logged',
      );
    });

    test('an ID token of this session needs no question: back to the application, with its state', async () => {
      const { browser, web, shop } = await signedIn('bea');
      const left = await browser.get(
        logoutUrl({
          id_token_hint: shop.id_token ?? '',
          post_logout_redirect_uri: BYE,
          state: 'a b',
        }),
      );
      assert.equal(left.url, `${BYE}?state=a+b`);
      assert.equal(
        heardOf(payloadOf(shop.id_token).sid).length,
        1,
        '§3: notified before the user is sent back',
      );
      for (const tokens of [web, shop]) assert.equal(await isActive(tokens.access_token), false);
      assert.ok(await isSignedOut(browser));
    });

    test('with an ID token of another session or user, the user is asked', async () => {
      const [cleo, dora] = [await signedIn('cleo'), await signedIn('dora')];
      const hint = { id_token_hint: cleo.shop.id_token ?? '', post_logout_redirect_uri: BYE };
      const question = await dora.browser.get(logoutUrl(hint));
      assert.ok(isQuestion(question));
      assert.match(question.html, /The shop/);
      assert.equal(await isActive(dora.web.access_token), true);
      assert.equal((await dora.browser.submit(question, { decision: 'yes' })).url, BYE);
      assert.equal(await isActive(cleo.web.access_token), true);

      const elsewhere = new Browser(server.url);
      await signInAndConsent(elsewhere, authorizationUrl(server.url, pkce), cleo.who);
      assert.ok(isQuestion(await elsewhere.get(logoutUrl(hint))), 'of the same person in another browser');
    });

    test('without a hint the application is not believed to be who it says, but its registered URI leads back', async () => {
      const { browser } = await signedIn('eve');
      const question = await browser.get(logoutUrl({ client_id: 'shop', post_logout_redirect_uri: BYE }));
      assert.ok(isQuestion(question));
      assert.doesNotMatch(question.html, /The shop/);
      assert.equal((await browser.submit(question, { decision: 'yes' })).url, BYE);
    });

    test('a user who is not signed in is redirected, or sees a page that says so', async () => {
      const browser = new Browser(server.url);
      const back = { client_id: 'shop', post_logout_redirect_uri: BYE };
      assert.equal((await browser.get(logoutUrl(back))).url, BYE);
      assert.match((await browser.get(logoutUrl())).html, /You are signed out/);
    });

    test('an unregistered URI still offers to sign out, and is never led to', async () => {
      const { browser, web, shop } = await signedIn('flo');
      const page = await browser.get(
        logoutUrl({
          id_token_hint: shop.id_token ?? '',
          post_logout_redirect_uri: 'https://attacker.example/',
        }),
      );
      assert.ok(isQuestion(page), page.html);
      assert.match(page.html, /<p id="stays-here"/);
      assert.equal(await isActive(web.access_token), true);
      await server.logged(
        ({ operation, reason, clientId }) =>
          operation === 'logout' && reason === 'redirect_uri_mismatch' && clientId === 'shop',
        'the operator learns of it',
      );
      const done = await browser.submit(page, { decision: 'yes' });
      assert.match(done.html, /You are signed out/);
      assert.equal(new URL(done.url).origin, server.url);
      assert.equal(await isActive(web.access_token), false);
    });

    for (const [answer, list] of [
      [200, 'notified'],
      [400, 'not-notified'],
      [500, 'pending'],
    ] as const) {
      test(`the page says which applications were notified, and which keep their own session (${answer})`, async () => {
        const { browser } = await signedIn(`finn-${answer}`);
        const question = await browser.get(logoutUrl());
        assert.match(question.html, /The others keep their own session until you sign out there/);
        receiver.answers.push(answer);
        const { html } = await browser.submit(question, { decision: 'yes' });
        for (const id of ['notified', 'pending', 'not-notified']) {
          const [section = ''] = new RegExp(`<section id="${id}">[\\s\\S]*?</section>`).exec(html) ?? [];
          assert.equal(section.includes('The shop'), id === list, id);
          assert.equal(section.includes('Demo web application'), id === 'not-notified', id);
        }
      });
    }

    test('no URI that is not registered is ever led to', async () => {
      const { browser, web } = await signedIn('fay');
      for (const parameters of [
        { client_id: 'shop', post_logout_redirect_uri: 'https://attacker.example/' },
        { post_logout_redirect_uri: 'https://attacker.example/' },
      ]) {
        const page = await browser.get(logoutUrl(parameters));
        const next = isQuestion(page) ? await browser.submit(page, { decision: 'no' }) : page;
        assert.equal(new URL(next.url).origin, server.url);
      }
      assert.equal(await isActive(web.access_token), true);
    });

    test('a form of another site, or without this browser’s token, does not sign the user out', async () => {
      const { browser, web } = await signedIn('gwen');
      assert.ok(isQuestion(await browser.post(`${server.url}/logout`, { decision: 'yes' })));
      const question = await browser.get(logoutUrl());
      const forged = await browser.submit(question, { decision: 'yes', form_token: 'x' });
      assert.equal(forged.status, 403);
      const stranger = new Browser(server.url);
      await stranger.submit(question, { decision: 'yes' });
      assert.equal(await isActive(web.access_token), true);
    });

    test('tokens with offline_access survive', async () => {
      const { who, browser } = await newPerson(server, 'hope');
      await signInAndConsent(browser, authorizationUrl(server.url, pkce), who);
      const shop = await shopTokens(browser, 'openid offline_access');
      await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      assert.equal(await isActive(shop.refresh_token), true);
      const sid = payloadOf(shop.id_token).sid;
      await until(() => heardOf(sid).length === 1, 'the application hears of it all the same');
    });

    test('an application of the session is notified once', async () => {
      const { browser, shop } = await signedIn('iris');
      const { sid, sub } = payloadOf(shop.id_token);
      await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      await until(() => heardOf(sid).length > 0, 'the application hears of it');
      const [token] = heardOf(sid);
      assert.deepEqual(
        { iss: token?.iss, aud: token?.aud, sub: token?.sub, events: token?.events },
        {
          iss: server.url,
          aud: 'shop',
          sub,
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        },
      );
      await until(
        () => server.log().some(({ event, sessionId }) => event === 'logout_delivered' && sessionId === sid),
        'it is logged',
      );
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(heardOf(sid).length, 1);
    });

    test('an application that does not respond does not delay the user for long', async () => {
      const { browser } = await signedIn('ivy');
      receiver.delayMs = 4500;
      const begun = performance.now();
      const done = await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      const tookMs = performance.now() - begun;
      receiver.delayMs = 0;
      assert.match(done.html, /You are signed out/);
      assert.ok(tookMs > 2900 && tookMs < 4400, `${tookMs} ms`);
    });

    test('only one of several workers notifies an application, however long that takes', async () => {
      const own = await workbench.start(server.folder, [
        ...['--demo', '--insecure-development', '--workers', '3', '--issuer', server.url],
      ]);
      const { browser, shop } = await signedIn('ines');
      const { sid } = payloadOf(shop.id_token);
      receiver.delayMs = 1500;
      await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      receiver.delayMs = 0;
      await new Promise((resolve) => setTimeout(resolve, 2500));
      assert.equal(heardOf(sid).length, 1);
      await own.stop();
    });

    /** As if the pauses between attempts were over. */
    async function makeDue(): Promise<void> {
      await database.run(server.folder, `UPDATE ${database.schema}logout_deliveries SET due_at_ms = 0`);
    }

    test('delivery to a failing application is repeated until it succeeds, also after a restart', async () => {
      const { browser, shop } = await signedIn('jane');
      const { sid } = payloadOf(shop.id_token);
      receiver.answers.push(503, 500, 200);
      await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      const postponed = () =>
        server.log().filter(({ event, sessionId }) => event === 'logout_postponed' && sessionId === sid)
          .length;
      await until(() => postponed() === 1, 'the first attempt has failed');
      await makeDue();
      await until(() => postponed() === 2, 'the second attempt has failed');
      await server.stop();
      server = await workbench.start(server.folder, [
        '--demo',
        '--insecure-development',
        ...['--port', String(server.port)],
      ]);
      await makeDue();
      await until(() => heardOf(sid).length === 3, 'it hears of it');
      await until(
        () => server.log().some(({ event, attempts }) => event === 'logout_delivered' && attempts === 3),
        'it is logged',
      );
      assert.ok(
        server.log().every(({ event }) => event !== 'logout_not_delivered'),
        'each attempt is one line',
      );
      assert.equal(new Set(heardOf(sid).map(({ jti }) => jti)).size, 3, 'a new logout token each time');
    });

    test('an application that refuses a logout token does not get another', async () => {
      const { browser, shop } = await signedIn('kate');
      const { sid } = payloadOf(shop.id_token);
      receiver.answers.push(400);
      await browser.submit(await browser.get(logoutUrl()), { decision: 'yes' });
      await until(
        () => server.log().some(({ event, sessionId }) => event === 'logout_given_up' && sessionId === sid),
        'it is given up',
      );
      await makeDue();
      await new Promise((resolve) => setTimeout(resolve, 2500));
      assert.equal(heardOf(sid).length, 1);
    });

    test('grantd user end-sessions ends them, and the running server notifies the applications', async () => {
      const { browser, web, shop } = await signedIn('lena');
      const printed = await grantdPrints(server.folder, ['user', 'end-sessions', 'lena', '--json']);
      assert.equal(JSON.parse(printed).sessions_ended, 1);
      assert.ok(await isSignedOut(browser));
      assert.equal(await isActive(web.access_token), false);
      const { sid } = payloadOf(shop.id_token);
      await until(() => heardOf(sid).length === 1, 'the application hears of it');
    });
  });
}
