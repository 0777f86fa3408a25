import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addClient } from '../harness/clients.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';
import { scene } from './scene.ts';

describe('a client that registered itself, in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  let callback: string;
  before(async () => {
    callback = `${set().application.origin}/stranger`;
    set().application.put('/stranger', '<!doctype html><title>The stranger’s site</title>');
    await addClient(set().server, {
      id: 'stranger',
      name: 'Example Inc. Security',
      grantTypes: ['authorization_code'],
      scopes: ['openid'],
      redirectUris: [callback],
      registeredAt: 1,
      metadata: { application_type: 'web' },
    });
  });
  const addressOf = (more: Readonly<Record<string, string>> = {}) =>
    authorizationUrl(set().server.url, newPkce(), {
      ...{ client_id: 'stranger', redirect_uri: callback, scope: 'openid', prompt: 'none' },
      ...more,
    });

  for (const responseMode of ['query', 'form_post']) {
    test(`${responseMode}: a link with prompt=none stays here until the user follows the link`, async () => {
      const { visitor, server } = set();
      const { page } = await visitor();
      await page.goto(addressOf({ response_mode: responseMode }));
      await page.waitForSelector('#leave');
      assert.equal(new URL(page.url()).origin, server.url);
      await page.click('#leave');
      await page.waitForURL((url) => url.href.startsWith(callback));
      const asked = set().application.asked.at(-1);
      const answer = responseMode === 'query' ? asked?.url.searchParams : new URLSearchParams(asked?.body);
      assert.equal(answer?.get('error'), 'login_required');
    });
  }

  test('a frame for silent renewal gets the response, and the page around it stays', async () => {
    const { visitor, application } = set();
    application.put(
      '/renews',
      `<!doctype html><iframe src="${addressOf().replaceAll('&', '&amp;')}"></iframe>`,
    );
    const { page } = await visitor();
    await page.goto(`${application.origin}/renews`);
    const frame = page.frames()[1];
    await frame?.waitForURL((url) => url.href.startsWith(callback));
    assert.equal(new URL(frame?.url() ?? '').searchParams.get('error'), 'login_required');
    assert.equal(page.url(), `${application.origin}/renews`);
  });

  test('a window that another site opens gets the page, not the response', async () => {
    const { visitor, application } = set();
    application.put(
      '/lures',
      `<!doctype html><a id="lure" target="_blank" href="${addressOf().replaceAll('&', '&amp;')}">x</a>`,
    );
    const { page } = await visitor();
    await page.goto(`${application.origin}/lures`);
    const opened = page.waitForEvent('popup');
    await page.click('#lure');
    const popup = await opened;
    await popup.waitForSelector('#leave');
  });
});
