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

/** What a visitor sees, on a device that stays the same. */
interface View {
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}

const TOUCH = { hasTouch: true, isMobile: true };
const PHONE_LIGHT: View = { name: 'phone, light', viewport: PHONE, colorScheme: 'light' };
const PHONE_DARK: View = { name: 'phone, dark', viewport: PHONE, colorScheme: 'dark' };
const DESKTOP_LIGHT: View = { name: 'desktop, light', viewport: DESKTOP, colorScheme: 'light' };
const DESKTOP_DARK: View = { name: 'desktop, dark', viewport: DESKTOP, colorScheme: 'dark' };

/** One opening of a page, which changes from view to view. */
interface Opening {
  readonly device: typeof TOUCH | Record<string, never>;
  readonly views: readonly [View, ...View[]];
}

const EVERY_PAGE = process.env.TEST_EVERY_PAIR === 'yes';

/**
 * Each page is opened once: on a phone, which then becomes as wide as a desktop and changes its scheme. Every second page
 * is dark first. `npm run test:every-page` opens each page for each view, and desktops have no touch there.
 */
const openingsOf = (page: number): readonly Opening[] => {
  if (EVERY_PAGE)
    return [PHONE_LIGHT, DESKTOP_DARK, PHONE_DARK, DESKTOP_LIGHT].map((view) => ({
      device: view.viewport === PHONE ? TOUCH : {},
      views: [view],
    }));
  return [
    { device: TOUCH, views: page % 2 === 0 ? [PHONE_LIGHT, DESKTOP_DARK] : [PHONE_DARK, DESKTOP_LIGHT] },
  ];
};

/** The view in which a page is checked by keyboard and with axe, which takes longest. The four views take turns. */
const accessibleViewOf = (page: number): number => (EVERY_PAGE ? 0 : Math.floor(page / 2) % 2);

describe('pages in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(PAGE_FLAGS, addAdministrator);
  let alice: StorageState;
  before(async () => {
    await addPageClients(set().server);
    const visit = await set().visitor();
    await visit.authorizeAndSignIn();
    alice = await visit.person.storageState();
  });

  for (const [index, { name, as, open, shows }] of PAGES.entries()) {
    for (const { device, views } of openingsOf(index)) {
      test(`${name} (${views.map((view) => view.name).join('; ')})`, async () => {
        const { server, visitor } = set();
        const { viewport, colorScheme } = views[0];
        const options = { ...device, viewport, colorScheme };
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

        for (const [at, view] of views.entries()) {
          await visit.page.setViewportSize(view.viewport);
          await visit.page.emulateMedia({ colorScheme: view.colorScheme });
          await looksRight(visit.page, view);
          if (at === accessibleViewOf(index)) await isAccessible(visit.page, view);
        }
        await visit.page.setViewportSize(NARROWEST);
        assert.ok((await contentWidth(visit.page)) <= NARROWEST.width, 'nor where it is narrow');

        assert.deepEqual([...seen.origins], [server.url], 'nothing from outside');
        assert.deepEqual(seen.complaints, []);
        await visit.person.close();
      });
    }
  }

  test('an identifier is copied by keyboard, which says so, and can be selected without scripts', async () => {
    const visit = await set().visitor({ viewport: DESKTOP, storageState: alice });
    await visit.person.grantPermissions(['clipboard-read', 'clipboard-write']);
    await visit.open('/console/keys');
    const row = visit.page.locator('.data tbody tr').first();
    const id = await row.locator('code').innerText();
    assert.equal(id.length, 43, 'all of it, though the style shortens it');
    const button = row.getByRole('button', { name: `Copy ${id}` });
    await button.focus();
    await visit.page.keyboard.press('Enter');
    await row.locator('.copy [role=status]:has-text("Copied")').waitFor();
    assert.equal(await visit.page.evaluate('navigator.clipboard.readText()'), id);
    const exact = await row.locator('time').evaluate((time) => getComputedStyle(time, '::after').content);
    assert.match(exact, /UTC/, 'the row with the focus shows exact times');
    await visit.person.close();

    const bare = await set().visitor({ storageState: alice, javaScriptEnabled: false });
    await bare.open('/console/keys');
    assert.equal(await bare.page.locator('.copy').filter({ visible: true }).count(), 0);
    assert.equal(
      await bare.page
        .locator('.copied code')
        .first()
        .evaluate((code) => getComputedStyle(code).userSelect),
      'all',
    );
    await bare.person.close();
  });

  test('the charts of the console are tables without scripts, and are fetched again until the session ends', async () => {
    const visit = await set().visitor({ viewport: DESKTOP, storageState: alice });
    const { page, person } = visit;
    await visit.open('/console');
    await page.waitForSelector('.plot canvas');
    assert.equal(await page.locator('.plot canvas').count(), 6);
    // A locale of POSIX, which some browsers have as their language, and Intl refuses.
    const odd = await set().visitor({
      ...{ viewport: DESKTOP, storageState: alice },
      // Chromium sends it as the header, and no header of the context.
      locale: 'de-CH-1901',
    });
    await odd.page.addInitScript(() => {
      Object.defineProperty(navigator, 'language', { get: () => 'en-US@posix' });
    });
    await odd.open('/console');
    await odd.page.waitForSelector('.plot canvas');
    assert.equal(await odd.page.locator('html').getAttribute('lang'), 'de');
    await odd.person.close();
    const bare = await set().visitor({ storageState: alice, javaScriptEnabled: false });
    await bare.open('/console');
    assert.equal((await bare.page.locator('.charts tbody tr').count()) > 6, true);
    assert.equal(await bare.page.locator('.plot, #live, #stopped').filter({ visible: true }).count(), 0);
    await bare.person.close();

    // The first page of a server that has just started.
    const early = await set().visitor({ viewport: DESKTOP, storageState: alice });
    await early.page.clock.install();
    await early.page.route('**/console', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/&quot;times&quot;:\[[^\]]*\]/, '&quot;times&quot;:[]');
      await route.fulfill({ response, body });
    });
    await early.open('/console');
    assert.equal(await early.page.locator('.plot canvas').count(), 0);
    await early.page.clock.runFor(1000);
    await early.page.waitForSelector('.plot canvas');
    await early.person.close();

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

async function looksRight(page: Page, { name, viewport, colorScheme }: View): Promise<void> {
  const light = await brightness(page);
  assert.ok(colorScheme === 'light' ? light > 0.8 : light < 0.2, `brightness ${light} (${name})`);
  assert.equal(await page.evaluate(() => innerWidth), viewport.width, name);
  assert.ok((await contentWidth(page)) <= viewport.width, `nothing to scroll sideways (${name})`);
}

async function isAccessible(page: Page, { name }: View): Promise<void> {
  assert.deepEqual(await accessibilityProblems(page), [], name);
  const stops = await tabStops(page);
  assert.deepEqual(
    stops,
    (await controls(page)).map((control) => ({ name: control, isFocusVisible: true })),
    `Tab leads to everything, in order, and shows where it is (${name})`,
  );
}

/** The scrollable width, in CSS pixels. */
function contentWidth(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
