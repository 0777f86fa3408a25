import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { hostileSite, NEIGHBOURHOODS } from './hostile_site.ts';
import { addAdministrator, addPageClients, PAGE_FLAGS, PAGES } from './pages.ts';
import { scene } from './scene.ts';
import type { Visit } from './visit.ts';

/** Chromium shows this in a frame if a page refuses to be framed. */
const REFUSED = 'chrome-error://chromewebdata/';

describe('framing in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);
  const { lure } = hostileSite(set);
  before(() => addPageClients(set().server));

  /** The content of a frame on the hostile site. */
  async function framed(visit: Visit, host: string, address: string): Promise<string | undefined> {
    await lure(visit, host, `<iframe src="${address}"></iframe>`);
    await visit.page.waitForLoadState();
    return visit.page.frames()[1]?.url();
  }

  test('a page that does not refuse is framed, so that refusals can be seen', async () => {
    const { visitor, redirectUri } = set();
    for (const { host } of NEIGHBOURHOODS)
      assert.equal(await framed(await visitor(), host, redirectUri), redirectUri);
  });

  for (const { name, as, open, shows } of PAGES) {
    test(`${name}: in no frame`, async () => {
      const visit = await set().visitor();
      if (as === 'alice') await visit.authorizeAndSignIn();
      await open(visit);
      await visit.page.waitForSelector(shows);
      const address = visit.page.url();

      const direct = await visit.page.request.get(address, { maxRedirects: 0 });
      // The address of a page that only a form reaches leads to another page.
      const shown = direct.status() === 303 ? await visit.page.request.get(address) : direct;
      const headers = shown.headers();
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.match(headers['content-security-policy'] ?? '', /(^|; )frame-ancestors 'none'(;|$)/);
      for (const { where, host } of NEIGHBOURHOODS)
        assert.equal(await framed(visit, host, address), REFUSED, where);
    });
  }
});
