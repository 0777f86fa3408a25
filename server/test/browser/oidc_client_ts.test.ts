import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePort } from '../../../core/test/harness/free_port.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { introspect } from '../harness/protocol.ts';
import { Tutorials } from '../harness/tutorials.ts';
import { hostileSite } from './hostile_site.ts';
import { scene } from './scene.ts';
import { singlePageApplication } from './single_page_application.ts';
import { Visit } from './visit.ts';

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

  test('tutorials/single_page_application.md: the page greets the user, renews bound tokens, and signs out', async (t) => {
    const { server, chromium } = set();
    const folder = mkdtempSync(join(tmpdir(), 'grantd-page-'));
    const home = 'http://127.0.0.1:3002';
    const own = `http://127.0.0.1:${await freePort()}`;
    const tutorials = new Tutorials(
      folder,
      new Map([
        ['http://localhost:4000', server.url],
        [home, own],
      ]),
    );
    t.after(async () => {
      await tutorials.stop();
      rmSync(folder, { recursive: true });
    });
    await tutorials.add('web_application', server.folder, { names: ['carol'] });
    await tutorials.add('single_page_application', server.folder);
    for (const file of ['page.html', 'page.js']) tutorials.save('single_page_application', file);
    await tutorials.serve('single_page_application', 'files.mjs', home);

    const page = await chromium.page();
    const shows = (text: string) =>
      page.waitForFunction((expected) => document.getElementById('state')?.textContent === expected, text);
    await page.goto(own);
    await shows('Signed out');
    await page.click('#sign-in');
    await new Visit(page, server.url).signIn({ username: 'carol', password: 'correct horse battery' });
    await page.click('#consent-allow');
    await shows('Hello Carol (DPoP)');
    const token = () =>
      page.evaluate(() => {
        const [, user = ''] =
          Object.entries(sessionStorage).find(([name]) => name.startsWith('oidc.user:')) ?? [];
        return String(JSON.parse(user).access_token);
      });
    const first = await token();
    await page.click('#renew');
    await page.waitForFunction(
      (former) => !JSON.stringify(Object.values(sessionStorage)).includes(former),
      first,
    );
    const second = await token();
    assert.deepEqual([await isAlive(first), await isAlive(second)], [true, true]);
    await page.click('#sign-out');
    await shows('Signed out');
    assert.equal(await isAlive(second), false);
  });
});
