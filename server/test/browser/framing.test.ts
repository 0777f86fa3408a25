import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { FRAMED_NOWHERE, framingHeaders } from './framing_headers.ts';
import { hostileSite, NEIGHBOURHOODS } from './hostile_site.ts';
import { scene } from './scene.ts';
import type { Visit } from './visit.ts';

/** Chromium shows this in a frame if a page refuses to be framed. */
const REFUSED = 'chrome-error://chromewebdata/';

describe('framing in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  const { lure } = hostileSite(set);

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

  // `pages.test.ts` compares the headers of every page with these.
  for (const [who, open] of Object.entries({
    'a visitor': (visit: Visit) => visit.authorize(),
    'a user who is signed in': (visit: Visit) => visit.authorizeAndSignIn(),
  })) {
    test(`a page for ${who}, with the headers of every page, is in no frame`, async () => {
      const visit = await set().visitor();
      await open(visit);
      if (who !== 'a visitor') await visit.open('/account');
      const address = visit.page.url();
      const headers = (await visit.page.request.get(address)).headers();
      assert.deepEqual(framingHeaders(headers), FRAMED_NOWHERE);
      for (const { where, host } of NEIGHBOURHOODS)
        assert.equal(await framed(visit, host, address), REFUSED, where);
    });
  }
});
