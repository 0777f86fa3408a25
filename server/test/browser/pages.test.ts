// Begins early: it opens every page.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { BrowserContext, Page, Response } from 'playwright-core';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { accessibilityProblems } from './accessibility.ts';
import { brightness } from './brightness.ts';
import { FRAMED_NOWHERE, framingHeaders } from './framing_headers.ts';
import { controls, tabStops } from './keyboard.ts';
import { addAdministrator, addPageClients, PAGE_FLAGS, PAGES } from './pages.ts';
import { scene } from './scene.ts';
import { watch } from './watch.ts';

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
/** WCAG 2.2 §1.4.10: a desktop of 1280 pixels at 400 %. */
const NARROWEST = { width: 320, height: 256 };

/** Each page is opened in the first two or in the last two: once in each width, and once in each scheme. */
const VIEWS = [
  { name: 'phone, light', viewport: PHONE, colorScheme: 'light', hasTouch: true, isMobile: true },
  { name: 'desktop, dark', viewport: DESKTOP, colorScheme: 'dark' },
  { name: 'phone, dark', viewport: PHONE, colorScheme: 'dark', hasTouch: true, isMobile: true },
  { name: 'desktop, light', viewport: DESKTOP, colorScheme: 'light' },
] as const;

/** `npm run test:every-page` opens each page in every view. */
const isOpened = (page: number, view: number) =>
  process.env.TEST_EVERY_PAIR === 'yes' || page % 2 === Math.floor(view / 2);

describe('pages in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);
  let alice: StorageState;
  before(async () => {
    await addPageClients(set().server);
    const visit = await set().visitor();
    await visit.authorizeAndSignIn();
    alice = await visit.person.storageState();
  });

  for (const [index, { name: view, ...options }] of VIEWS.entries()) {
    for (const { name, as, open, shows } of PAGES.filter((_, page) => isOpened(page, index))) {
      test(`${name} (${view})`, async () => {
        const { server, visitor } = set();
        const visit = await visitor({ ...options, ...(as === 'alice' && { storageState: alice }) });
        const seen = watch(visit.person);
        let shown: Response | undefined;
        visit.page.on('response', (response) => {
          if (response.request().isNavigationRequest() && response.headers().location === undefined)
            shown = response;
        });
        await open(visit);
        await visit.page.waitForSelector(shows);
        assert.ok(shown);
        assert.deepEqual(framingHeaders(shown.headers()), FRAMED_NOWHERE);

        const light = await brightness(visit.page);
        assert.ok(options.colorScheme === 'light' ? light > 0.8 : light < 0.2, `brightness ${light}`);
        assert.deepEqual(await accessibilityProblems(visit.page), []);
        const stops = await tabStops(visit.page);
        assert.deepEqual(
          stops,
          (await controls(visit.page)).map((control) => ({ name: control, isFocusVisible: true })),
          'Tab leads to everything, in order, and shows where it is',
        );
        assert.ok((await contentWidth(visit.page)) <= options.viewport.width, 'nothing to scroll sideways');
        await visit.page.setViewportSize(NARROWEST);
        assert.ok((await contentWidth(visit.page)) <= NARROWEST.width, 'nor where it is narrow');

        assert.deepEqual([...seen.origins], [server.url], 'nothing from outside');
        assert.deepEqual(seen.complaints, []);
        await visit.person.close();
      });
    }
  }

  test('the charts of the console are tables without scripts, and are fetched again until the session ends', async () => {
    const visit = await set().visitor({ viewport: DESKTOP, storageState: alice });
    const { page, person } = visit;
    await visit.open('/console');
    await page.waitForSelector('.plot canvas');
    assert.equal(await page.locator('.plot canvas').count(), 6);
    const bare = await set().visitor({ storageState: alice, javaScriptEnabled: false });
    await bare.open('/console');
    assert.equal((await bare.page.locator('.charts tbody tr').count()) > 6, true);
    assert.equal(await bare.page.locator('.plot, #live, #stopped').filter({ visible: true }).count(), 0);
    await bare.person.close();

    await page.clock.install();
    await page.reload();
    const answered = page.waitForResponse((response) => response.url().endsWith('/console/figures'));
    await page.clock.runFor(10_000);
    assert.equal((await answered).status(), 200);
    assert.equal(await page.locator('#stopped').isVisible(), false);
    await person.clearCookies();
    await page.clock.runFor(10_000);
    await page.locator('#stopped').waitFor({ state: 'visible' });
    await person.close();
  });
});

/** The scrollable width, in CSS pixels. */
function contentWidth(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
