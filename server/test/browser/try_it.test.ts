// An administrator who has never seen the console adds an application, and tries it without a command or another server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addAdministrator, PAGE_FLAGS } from './pages.ts';
import { scene } from './scene.ts';
import { watch } from './watch.ts';

/** Words of the page that a reader sees, without the navigation. */
function wordsOf(page: Page): Promise<number> {
  return page.evaluate(() => {
    const seen = document.querySelector('main')?.cloneNode(true) as HTMLElement;
    document.body.append(seen);
    for (const part of seen.querySelectorAll('.crumbs, .unseen, script, style')) part.remove();
    const words = seen.innerText.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
    seen.remove();
    return words.length;
  });
}

describe('a new client in the console', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);

  async function administrator(locale?: string) {
    const visit = await set().visitor(locale === undefined ? {} : { locale });
    await visit.open('/console/clients');
    await visit.signIn();
    return visit;
  }

  for (const locale of ['en-GB', 'de'])
    test(`${locale}: from the overview to the claims, at most 4 clicks, 1 field and 150 words`, async () => {
      const { page } = await administrator(locale);
      await page.goto(`${set().server.url}/console`);
      let words = 0;
      const steps = ['#add-client', '#ask-add_spa', '#save-try_spa', '#consent-allow'];
      for (const [index, step] of steps.entries()) {
        // The overview is not read to add an application.
        if (index > 0) words += await wordsOf(page);
        if (step === '#save-try_spa') await page.fill('#field-client_name', 'Notes');
        await page.click(step);
        await page.waitForSelector(steps[index + 1] ?? '#revoke-trial');
      }
      assert.ok(words <= 150, `${words} words`);
      const [first] = await page.locator('main h2').allInnerTexts();
      assert.equal(first, 'UserInfo', 'the claims come first');
    });

  test('a single-page application is added and tried in less than a minute', async () => {
    const visit = await administrator();
    const { page } = visit;
    const seen = watch(visit.person);
    const beganAtMs = Date.now();
    await page.click('#add-client');
    await page.click('#ask-add_spa');
    await page.fill('#field-client_name', 'Notes');
    const id = await page.inputValue('#field-client_id');
    assert.match(id, /^spa-[a-z\d]{6}$/, 'a client ID that no one has to think of');
    await page.click('#save-try_spa');
    await page.click('#consent-allow');
    await page.waitForSelector('#revoke-trial');
    assert.ok(Date.now() - beganAtMs < 60_000);
    const shown = await page.innerText('main');
    assert.match(shown, /What the application gets/);
    assert.match(shown, /alice@example\.com/);
    assert.equal(new URL(page.url()).search, `?id=${id}`, 'the code leaves the address');
    assert.equal(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage])), '[{},{}]');

    await page.click('#revoke-trial');
    await page.waitForSelector('text=The token is revoked');
    assert.match(await page.innerText('main'), /\{"active":false\}/);
    // Nothing was refused by the content security policy, or failed.
    assert.deepEqual(seen.complaints, []);

    // The way back leads to the client, not to the code.
    await page.goBack();
    await page.waitForSelector('#try-here');
    assert.equal(new URL(page.url()).pathname, '/console/clients');
  });

  test('German: a refused consent, after a client without the page of the console has got it', async () => {
    const { page } = await administrator('de');
    await page.goto(`${set().server.url}/console/clients?id=demo-spa`);
    await page.click('#ask-allow_trial');
    await page.click('#save-allow_trial');
    await page.click('#try-here');
    await page.click('#consent-deny');
    await page.waitForSelector('#try-again');
    const shown = await page.innerText('main');
    assert.match(shown, /Die Anwendung bekommt nichts/);
    assert.match(shown, /access_denied/);
    assert.equal(await page.locator('html').getAttribute('lang'), 'de');
    await page.click('#to-refusals');
    await page.click('#ask-end_trial');
    await page.click('#save-end_trial');
    await page.waitForSelector('#ask-allow_trial');
  });
});
