// The bar of the acts on several things: it stays in view while rows are selected, also without scripts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addAdministrator, PAGE_FLAGS } from './pages.ts';
import { scene } from './scene.ts';

describe('a long list in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);

  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ])
    for (const list of ['users', 'groups'])
      test(`${list}: the bar is in view while rows are selected, ${viewport.width} pixels wide`, async () => {
        const visit = await set().visitor({ viewport });
        const { page } = visit;
        await visit.open(`/console/${list}?ui_language=en`);
        await visit.signIn();
        await page.waitForSelector('.data tbody tr');
        await page.evaluate(() => {
          const row = document.querySelector('.data tbody tr');
          for (let count = 0; count < 60; count++) row?.after(row.cloneNode(true));
        });
        const inView = () =>
          page.evaluate(() => {
            const bar = document.querySelector('.bulk')?.getBoundingClientRect();
            return bar !== undefined && bar.top >= 0 && bar.bottom <= window.innerHeight + 1;
          });
        const legend = () => page.locator('.bulk legend').innerText();
        assert.equal(await inView(), false, 'below the list');
        assert.equal((await legend()).trim(), 'With selected');
        await page.locator('input[name=picked]').nth(0).check();
        await page.locator('input[name=picked]').nth(1).check();
        assert.equal(await inView(), true);
        assert.equal((await legend()).trim(), 'With selected (2)');
        const { x, width } = (await page.locator('.bulk').boundingBox()) ?? assert.fail();
        assert.ok(x >= 0 && x + width <= viewport.width, `from ${x} to ${x + width}`);
        await page.locator('.bulk button').last().click({ trial: true });
        await page.locator('input[name=picked]').nth(0).uncheck();
        await page.locator('input[name=picked]').nth(1).uncheck();
        assert.equal(await inView(), false);
        assert.equal((await legend()).trim(), 'With selected');
      });
});
