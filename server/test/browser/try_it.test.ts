// What the console shows after a client was added works as it is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addAdministrator, PAGE_FLAGS } from './pages.ts';
import { scene } from './scene.ts';

const LIBRARY = fileURLToPath(import.meta.resolve('oauth4webapi'));

describe('a new client in the console', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);

  test('a single-page application is added, and the page that the console shows signs a user in', async () => {
    const { application, visitor } = set();
    const redirectUri = `${application.origin}/spa`;
    const visit = await visitor();
    const { page } = visit;
    await visit.open('/console/clients');
    await visit.signIn();
    await page.click('#add-client');
    await page.click('#ask-add_spa');
    await page.fill('#field-client_id', 'tried');
    await page.fill('#field-redirect_uris', redirectUri);
    await page.click('#save-add_spa');
    await page.click('#console-yes');
    const snippet = await page.innerText('#try-spa');

    const imports = JSON.stringify({ imports: { oauth4webapi: '/oauth4webapi.js' } });
    application.put('/oauth4webapi.js', readFileSync(LIBRARY, 'utf8'), 'text/javascript');
    application.put(
      '/spa',
      `<!doctype html><script type="importmap">${imports}</script><body><script type="module">${snippet}</script>`,
    );
    await page.goto(redirectUri);
    await page.click('#consent-allow');
    await page.waitForURL((url) => url.href.startsWith(redirectUri));
    await page.waitForFunction(() => document.body.textContent?.includes('"sub"'));
    const user: unknown = JSON.parse(await page.innerText('body'));
    assert.equal(Object(user).email, 'alice@example.com');
  });
});
