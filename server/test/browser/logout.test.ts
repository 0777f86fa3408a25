import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { introspect } from '../harness/protocol.ts';
import { tabTo } from './keyboard.ts';
import { scene } from './scene.ts';
import { singlePageApplication } from './single_page_application.ts';

describe('logout by oidc-client-ts in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  const application = singlePageApplication(set);

  for (const site of ['sameSite', 'otherSite'] as const) {
    test(`${site}: a user who signs out at the application is signed out here, and returns`, async () => {
      const url = application()[site];
      const opened = await application().open(url);
      await opened.signIn();
      const user = await opened.user();

      await opened.page.click('#sign-out');
      await opened.visit.confirmLogout();
      await opened.page.waitForURL(`${url}/`);
      assert.equal(await opened.outcome(), '');
      assert.equal(await opened.state(), 'signed out');
      assert.equal(await opened.visit.session(), undefined);
      for (const token of [user.access_token, user.refresh_token ?? ''])
        assert.deepEqual(await introspect(set().server.url, token), { active: false });

      await opened.page.click('#sign-in');
      await opened.page.waitForSelector('#login-submit');
    });
  }

  test('without id_token_hint the user is asked, and the keyboard is enough to answer', async () => {
    const { server, visitor } = set();
    const visit = await visitor({ javaScriptEnabled: false });
    await visit.authorizeAndSignIn();
    await visit.open('/logout');
    assert.ok(await visit.session());
    await tabTo(visit.page, 'logout-yes');
    await visit.page.keyboard.press('Enter');
    await visit.page.waitForSelector('#sign-in-again');
    await visit.authorize();
    await visit.page.waitForSelector('#login-submit');
    assert.equal(new URL(visit.page.url()).origin, server.url);
  });

  test('a session that has ended is over in the browser that kept its cookie', async () => {
    const { visitor } = set();
    const visit = await visitor();
    await visit.authorizeAndSignIn();
    const kept = await visit.person.cookies();
    await visit.open('/logout');
    await visit.page.click('#logout-yes');
    await visit.page.waitForSelector('#sign-in-again');

    const thief = await visitor();
    await thief.person.addCookies(kept);
    await thief.authorize();
    await thief.page.waitForSelector('#login-submit');
  });
});
