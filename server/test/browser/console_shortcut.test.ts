// The console on a phone, and the key that leads to its search, which can be switched off (WCAG 2.2 §2.1.4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addAdministrator, PAGE_FLAGS } from './pages.ts';
import { scene } from './scene.ts';

const PHONE = { width: 390, height: 844 };

describe('the console in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);

  for (const [language, name] of [
    ['en', 'The key / leads to the search'],
    ['de', 'Die Taste / führt zur Suche'],
  ] as const)
    test(`${language}: a browser remembers that it is off, and that it is on again`, async () => {
      const visit = await set().visitor();
      const { page } = visit;
      await visit.open(`/console/users?ui_language=${language}`);
      await visit.signIn();
      const focused = () => page.evaluate(() => document.activeElement?.id);
      const pressed = async () => {
        await page.evaluate(() => {
          if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
        });
        await page.keyboard.press('/');
        const field = await focused();
        return [field, await page.inputValue('#q'), await page.getAttribute('#q', 'aria-keyshortcuts')];
      };
      assert.deepEqual(await pressed(), ['q', '', '/']);

      const choice = page.getByRole('checkbox', { name });
      assert.equal(await choice.isChecked(), true);
      // Reached and changed by keyboard alone: it is the last one of the navigation.
      await page.locator('#navigation a').last().focus();
      await page.keyboard.press('Tab');
      assert.equal(await focused(), 'shortcut-on');
      await page.keyboard.press('Space');
      assert.notEqual((await pressed())[0], 'q');
      await visit.open('/console/clients');
      assert.equal(await choice.isChecked(), false);
      const [field, , keys] = await pressed();
      assert.notEqual(field, 'q');
      assert.equal(keys, null);

      await choice.check();
      await visit.open('/console/groups');
      assert.deepEqual(await pressed(), ['q', '', '/']);

      await page.setViewportSize(PHONE);
      assert.notEqual((await pressed())[0], 'q', 'a key that cannot be switched off does nothing');
      await page.click('#menu');
      assert.equal(await page.locator('#shortcut').isVisible(), false);
    });

  for (const language of ['en', 'de'])
    test(`${language}: the menu of a user is inside of a phone, and links look like buttons`, async () => {
      const visit = await set().visitor({ viewport: PHONE });
      const { page } = visit;
      await visit.open(`/console/users?search=alice&ui_language=${language}`);
      await visit.signIn();
      await page.click('.data tbody th a');
      await page.click('#more');
      const { x, width } = (await page.locator('.menu > div').boundingBox()) ?? assert.fail();
      assert.ok(x >= 0 && x + width <= PHONE.width, `from ${x} to ${x + width}`);
      for (const id of ['events', 'more', 'ask-edit']) {
        const offset = await page.evaluate((of) => {
          const element = document.getElementById(of) ?? document.body;
          const text = document.createRange();
          text.selectNodeContents(element);
          const [inner, outer] = [text.getBoundingClientRect(), element.getBoundingClientRect()];
          return inner.top + inner.bottom - outer.top - outer.bottom;
        }, id);
        assert.ok(Math.abs(offset) <= 2, `${id}: ${offset} pixels from the middle, twice`);
      }
    });
});
