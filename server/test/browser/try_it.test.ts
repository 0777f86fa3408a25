// What the console shows after a client was added works as it is.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addAdministrator, PAGE_FLAGS } from './pages.ts';
import { scene } from './scene.ts';

describe('a new client in the console', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);

  test('a single-page application is added, and the file that the console shows signs a user in', async () => {
    const { application, visitor } = set();
    const redirectUri = `${application.origin}/spa`;
    const visit = await visitor();
    const { page } = visit;
    await visit.open('/console/clients');
    await visit.signIn();
    const beganAtMs = Date.now();
    await page.click('#add-client');
    await page.click('#ask-add_spa');
    const id = await page.inputValue('#field-client_id');
    assert.match(id, /^spa-[a-z\d]{6}$/, 'a client ID that no one has to think of');
    await page.fill('#field-redirect_uris', redirectUri);
    await page.click('#save-add_spa');
    const file = await page.locator('#try-spa').textContent();
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download-try')]);
    assert.equal(download.suggestedFilename(), 'index.html');

    application.put('/spa', file ?? '', 'text/html');
    await page.goto(redirectUri);
    await page.click('#sign-in');
    await page.click('#consent-allow');
    await page.waitForURL((url) => url.href.startsWith(redirectUri));
    await page.waitForFunction(() => document.querySelector('#state')?.textContent !== 'Not signed in.');
    assert.equal(await page.innerText('#state'), 'Signed in.');
    const shown = Object(JSON.parse(await page.innerText('#shown')));
    assert.equal(shown.userinfo.email, 'alice@example.com');
    assert.equal(shown.access_token.client_id, id);
    assert.ok(Date.now() - beganAtMs < 60_000);
    assert.equal(new URL(page.url()).search, '', 'the code leaves the address');
  });
});
