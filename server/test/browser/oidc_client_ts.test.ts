import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { introspect } from '../harness/protocol.ts';
import { hostileSite } from './hostile_site.ts';
import { scene } from './scene.ts';
import { singlePageApplication } from './single_page_application.ts';

const SITES = [
  { where: 'on the server’s site', site: 'sameSite' },
  { where: 'on another site', site: 'otherSite' },
] as const;

describe('oidc-client-ts in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  const application = singlePageApplication(set);
  const { lure } = hostileSite(set);
  const isAlive = async (token: string) => (await introspect(set().server.url, token)).active;

  for (const { where, site } of SITES) {
    test(`${where}: signs in by redirect, reads UserInfo, renews by refresh token, and gives the tokens back`, async () => {
      const opened = await application().open(application()[site]);
      assert.equal(await opened.state(), 'signed out');

      await opened.signIn();
      assert.equal(await opened.state(), 'signed in');
      assert.equal(await opened.page.innerText('#name'), 'Alice Liddell');
      const user = await opened.user();
      assert.equal(user.profile.email, 'alice@example.com');
      assert.equal(await isAlive(user.access_token), true);

      assert.equal(await opened.press('renew'), '');
      const renewed = await opened.user();
      assert.notEqual(renewed.access_token, user.access_token);
      assert.notEqual(renewed.refresh_token, user.refresh_token);
      assert.equal(await isAlive(renewed.access_token), true);

      assert.equal(await opened.press('revoke'), '');
      assert.equal(await opened.state(), 'signed out');
      assert.equal(await isAlive(renewed.access_token), false);
      assert.equal(await isAlive(renewed.refresh_token ?? ''), false);
    });

    test(`${where}: denied consent arrives as access_denied`, async () => {
      const opened = await application().open(application()[site]);
      await opened.page.click('#sign-in');
      await opened.visit.signIn();
      await opened.page.click('#consent-deny');
      await opened.page.waitForURL(`${application()[site]}/`);
      assert.equal(await opened.outcome(), 'access_denied');
      assert.equal(await opened.state(), 'signed out');
    });

    test(`${where}: a frame learns that no user is signed in`, async () => {
      const opened = await application().open(application()[site], 'no refresh tokens');
      assert.equal(await opened.press('renew'), 'login_required');
    });
  }

  test('a page of an origin that no application has registered reads nothing, even with a token', async () => {
    const { server, visitor } = set();
    const opened = await application().open(application().sameSite);
    await opened.signIn();
    const { access_token: token } = await opened.user();
    const read = ([url, bearer]: readonly [string, string]) =>
      fetch(url, { headers: { authorization: `Bearer ${bearer}` } }).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      );
    assert.equal(await opened.page.evaluate(read, [`${server.url}/userinfo`, token] as const), '200');

    const elsewhere = await visitor();
    await lure(elsewhere, 'localhost', '<p>Your token, please.</p>');
    assert.equal(
      await elsewhere.page.evaluate(read, [`${server.url}/userinfo`, token] as const),
      'TypeError: Failed to fetch',
    );
  });
});
