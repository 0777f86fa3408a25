// Begins early: it presses every button of every form.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { BrowserContext, Page as ChromiumPage } from 'playwright-core';
import type { Page } from '../harness/browser.ts';
import { Chromium } from '../harness/chromium.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { type LoggedLine, until } from '../harness/program.ts';
import { samplePages } from '../pages/sample_pages.ts';
import { buttonOn, crawl, follow, type Press, send, submitsIn, type World, walk } from './form_crawl.ts';
import { type Entrances, openEntrances } from './form_entrances.ts';

/** What a press leads to. */
interface Outcome {
  /** What the user sees. */
  readonly shown: string;
  /** What the server has logged about it. */
  readonly events: readonly string[];
}

type Shown = Pick<Page, 'url' | 'html'>;

/** Buttons whose response is a file. */
const DOWNLOAD = ' export-*';

const EVERY_PAGE = process.env.TEST_EVERY_PAIR === 'yes';

/** How many users press at the same time in Chromium. */
const AT_ONCE = 8;

describe('a button that is pressed twice', () => {
  let site: Entrances;
  let chromium: Chromium | undefined;
  before(async () => {
    site = await openEntrances();
  });
  after(async () => {
    await chromium?.close();
    await site?.close();
  });

  /** What a single press leads to. Filled by the first test. */
  const outcomes = new Map<Press, Outcome>();

  const eventsIn = (isMeant: (line: LoggedLine) => boolean): readonly string[] =>
    site.server
      .log()
      .filter((line) => line.page !== undefined && isMeant(line))
      .map(({ event, page, reason = '' }) => `${event} ${page} ${reason}`)
      .sort();

  /** What the server has logged since then about its pages. */
  const eventsSince = (startedAt: number): readonly string[] => {
    const earliest = new Date(startedAt).toISOString();
    return eventsIn(({ time }) => String(time) >= earliest);
  };

  /** Waits until the server has logged these requests. The line of a request follows those of its events. */
  async function logged(requestIds: readonly string[]): Promise<void> {
    const isLogged = () => {
      const lines = site.server.log().filter(({ method }) => method !== undefined);
      const ids = new Set(lines.map(({ requestId }) => requestId));
      return requestIds.every((id) => ids.has(id));
    };
    await until(isLogged, 'they are logged');
  }

  /** Presses a button of a new user, in several windows at the same time. */
  async function byRequests({ entrance, way, kind }: Press, times: number): Promise<Outcome> {
    const world = await entrance.open();
    const button = buttonOn(await follow(world, way), world, kind);
    const windows = Array.from({ length: times }, () => ({ ...world, browser: world.browser.copy() }));
    const pages = await Promise.all(windows.map((window) => send(window, button)));
    const [page = assert.fail(), ...others] = pages;
    for (const other of others) assert.equal(seen(other), seen(page));
    // The provider answers at once, without asking its user.
    const left = site.isProvider(page.url) && (await site.answerAt(page.url));
    const last = left === false ? page : ((await windows[0]?.browser.get(left)) ?? page);
    const ids = windows.flatMap(({ browser }) => browser.requestIds);
    await logged(ids);
    return { shown: seen(last), events: eventsIn(({ requestId }) => ids.includes(String(requestId))) };
  }

  test('does once what it does, and shows the same to both presses, in two workers', async () => {
    const failures: string[] = [];
    await crawl(site.entrances, async (press) => {
      const pressOnce = byRequests(press, 1);
      // Each presses for a user of its own. In the console, both would change the same thing.
      if (press.kind.startsWith('/console')) await pressOnce;
      const [once, twice] = await Promise.all([pressOnce, byRequests(press, 2).catch(String)]);
      outcomes.set(press, once);
      if (!isSame(twice, once)) failures.push(describeFailure(press, twice, once));
    });
    assert.deepEqual(failures, []);
    const kinds = new Set([...outcomes.keys()].map(({ kind }) => kind.split(' ')[1]));
    assert.deepEqual(
      buttonsOfSamples().filter((kind) => !kinds.has(kind) && !OF_FILES.includes(kind ?? '')),
      [],
      'the crawl has found every button',
    );
  });

  const modes = EVERY_PAGE ? ['with', 'without'] : ['alternately with and without'];
  for (const mode of modes) {
    test(`does so in Chromium ${mode} scripts, over a slow line`, { skip: CHROMIUM_ABSENCE }, async () => {
      chromium ??= await Chromium.start();
      const failures: string[] = [];
      const done: Ready[] = [];
      const presses = pressesInChromium([...outcomes.keys()]);
      for (let at = 0; at < presses.length; at += AT_ONCE) {
        const together = presses.slice(at, at + AT_ONCE);
        const ready = await Promise.all(
          together.map((press, index) =>
            prepare(press, mode === 'with' || (mode !== 'without' && index % 2 === 0)),
          ),
        );
        await logged(ready.flatMap(({ earlier }) => earlier));
        await pause(2);
        const startedAt = Date.now();
        await Promise.all(
          ready.map(async (one) => {
            const expected = one.isDownload
              ? seen(await shownIn(one.page))
              : (outcomes.get(one.press)?.shown ?? '');
            const shown = await pressTwice(one, expected);
            if (shown !== expected) failures.push(describeFailure(one.press, shown, expected));
          }),
        );
        const expected = ready.flatMap(({ press }) => outcomes.get(press)?.events ?? []).sort();
        // Lines are written a moment after their events.
        for (let tries = 0; tries < 100 && eventsSince(startedAt).length < expected.length; tries += 1)
          await pause(20);
        await pause(50);
        const events = eventsSince(startedAt);
        if (!isSame(events, expected))
          failures.push(
            describeFailure(
              together.map(({ kind }) => kind),
              events,
              expected,
            ),
          );
        done.push(...ready);
        await Promise.all(ready.map(({ context }) => context.close()));
      }
      assert.deepEqual(failures, []);
      for (const { press, isScripted, sent } of done)
        if (isScripted) assert.equal(sent, 1, `scripts send ${press.kind} once`);
      const bare = done.filter(({ isScripted }) => !isScripted);
      assert.equal(bare.reduce((sum, { sent }) => sum + sent, 0) > bare.length || mode === 'with', true);
    });
  }

  test('can be pressed again on a page that is shown again, and after a download', {
    skip: CHROMIUM_ABSENCE,
  }, async () => {
    chromium ??= await Chromium.start();
    const [entrance] = site.entrances;
    const world = (await entrance?.open()) ?? assert.fail();
    const context = await chromium.person({ extraHTTPHeaders: world.headers });
    const page = await context.newPage();
    await page.goto(`${site.server.url}/account/data`);
    await page.clock.install();
    await page.mouse.click(...(await fillIn(page, world, '/login login-submit')));
    await page.waitForSelector('#export-data');

    let downloads = 0;
    page.on('download', () => {
      downloads += 1;
    });
    const press = async () => {
      await page.click('#export-data');
      await pause(300);
    };
    await press();
    await press();
    assert.equal(downloads, 1);
    await page.clock.runFor(5_000);
    await press();
    assert.equal(downloads, 2);

    await page.goto(`${site.server.url}/logout`);
    await context.setOffline(true);
    await Promise.all([page.waitForEvent('load'), page.click('#logout-no')]);
    assert.equal(await page.locator('#to-account').count(), 0);
    await context.setOffline(false);
    await page.goBack();
    await page.click('#logout-no');
    await page.waitForSelector('#to-account');
    await context.close();
  });

  /** A page on which a button only needs to be pressed. */
  interface Ready {
    readonly press: Press;
    readonly context: BrowserContext;
    readonly page: ChromiumPage;
    readonly center: readonly [x: number, y: number];
    readonly isDownload: boolean;
    readonly isScripted: boolean;
    /** The requests that have led there. */
    readonly earlier: readonly string[];
    /** How often the form was sent. */
    sent: number;
  }

  async function prepare(press: Press, isScripted: boolean): Promise<Ready> {
    const { entrance, way, kind } = press;
    const world = await entrance.open();
    const pages = await walk(world, way);
    const context = await (chromium ?? assert.fail()).person({
      ...{
        javaScriptEnabled: isScripted,
        extraHTTPHeaders: world.headers,
        viewport: { width: 1000, height: 3000 },
      },
    });
    await context.addCookies(
      [...world.browser.cookies].map(([name, value]) => ({ name, value, url: site.server.url })),
    );
    const page = await context.newPage();
    const earlier = world.browser.requestIds;
    page.on('response', (response) => {
      const id = response.headers()['x-request-id'];
      if (id !== undefined) earlier.push(id);
    });
    // No URL leads to the answer of a form.
    const reachable = pages.findLastIndex(({ isAnswer }) => !isAnswer);
    await page.goto(pages[reachable]?.url ?? world.url);
    for (const before of way.slice(reachable)) {
      const center = await fillIn(page, world, before);
      await Promise.all([page.waitForEvent('load'), page.mouse.click(...center)]);
    }
    const center = await fillIn(page, world, kind);
    const devtools = await context.newCDPSession(page);
    // On a busy machine, two presses can be half a second apart.
    const slow = { offline: false, latency: 1000, downloadThroughput: -1, uploadThroughput: -1 };
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', slow);
    const isDownload = kind.endsWith(DOWNLOAD);
    const ready: Ready = {
      ...{ press, context, page, center, isDownload, isScripted, earlier: [...earlier], sent: 0 },
    };
    page.on('request', (request) => {
      if (request.method() === 'POST') ready.sent += 1;
    });
    return ready;
  }
});

/**
 * A browser sends all forms of a page by the same script, so one button of each path and each kind of response is enough.
 * `npm run test:every-page` presses all buttons.
 */
function pressesInChromium(presses: readonly Press[]): readonly Press[] {
  const typed = presses.filter(({ isOfPasskey }) => !isOfPasskey);
  if (EVERY_PAGE) return typed;
  const paths = new Set<string>();
  return typed.filter(({ kind }) => {
    const [path = ''] = kind.split(' ');
    const isNew = !paths.has(path);
    paths.add(path);
    return isNew || kind.endsWith(DOWNLOAD);
  });
}

/** Presses twice before the answer arrives. @returns what the user sees in the end */
async function pressTwice(
  { page, center }: { page: ChromiumPage; center: readonly [number, number] },
  expected: string,
) {
  await page.mouse.click(...center);
  await pause(100);
  await page.mouse.click(...center);
  const endsAt = Date.now() + 8_000;
  while (seen(await shownIn(page)) !== expected && Date.now() < endsAt) await pause(50);
  // Nothing follows.
  await pause(500);
  return seen(await shownIn(page));
}

/** Types into the form of a button. @returns where the button is */
async function fillIn(page: ChromiumPage, world: World, kind: string): Promise<readonly [number, number]> {
  const { typed, form: index, id } = buttonOn(await shownIn(page), world, kind);
  const form = page.locator('form[method=post]').nth(index);
  await form.evaluate((one) => one.closest('details')?.setAttribute('open', ''));
  for (const [name, value] of Object.entries(typed)) {
    const field = form.locator(`[name="${name}"]`);
    // Several boxes can have one name.
    if ((await field.first().getAttribute('type')) === 'checkbox')
      await form.locator(`[name="${name}"][value="${value}"]`).check();
    else await field.fill(value);
  }
  const button = form.locator(`[id="${id}"]`);
  await button.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await button.boundingBox()) ?? assert.fail(`${kind} is hidden`);
  return [x + width / 2, y + height / 2];
}

async function shownIn(page: ChromiumPage): Promise<Shown> {
  const url = page.url();
  // On its way to another page, it has no content.
  return { url, html: await page.content().catch(() => '') };
}

/** Buttons that send a file, or what follows from one. console_files.test.ts presses those twice that change something. */
const OF_FILES = ['import-check', 'import-replan', 'import-run', 'apply-plan', 'apply-secrets', 'apply-run'];

const TEXTS = [
  /<title>([\s\S]*?)<\/title>/g,
  /<h1[^>]*>([\s\S]*?)<\/h1>/g,
  /<p role="(?:alert|status)"(?![^>]* hidden)[^>]*>([\s\S]*?)<\/p>/g,
];

/** What a user sees of a page, without what differs from user to user. */
function seen({ url, html }: Shown): string {
  const { origin, pathname, searchParams } = new URL(url);
  const texts = TEXTS.flatMap((text) => [...html.matchAll(text)]);
  const words = texts.map(([, text = '']) => text.replaceAll(/<[^>]*>/g, '').trim());
  return [`${origin}${pathname}?${[...searchParams.keys()].sort()}`, ...words]
    .join(' | ')
    .replaceAll(/\d+/g, '#');
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function describeFailure(press: Press | readonly string[], got: unknown, expected: unknown): string {
  const name =
    'kind' in press ? `${press.entrance.name}: ${[...press.way, press.kind].join(', ')}` : press.join(', ');
  return `${name}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`;
}

/** The kinds of buttons in forms that this server receives, on all pages in all their states. */
function buttonsOfSamples(): readonly (string | undefined)[] {
  const forms = [...samplePages('en').values()].flatMap(({ body }) => [
    ...String(body).matchAll(/<form method="post" action="(\/[^"]*)"[^>]*>([\s\S]*?)<\/form>/g),
  ]);
  const kinds = forms.flatMap(([, action = '', inner = '']) =>
    submitsIn(inner, `https://login.example${action}`).map(({ kind }) => kind.split(' ')[1]),
  );
  return [...new Set(kinds)];
}
