// Every page of the console, drawn as samples: words and times keep to their place.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page as Tab } from 'playwright-core';
import { contentSecurityPolicy, documentOf, type Page, styleOf } from '../../src/pages/drawing/layout.ts';
import { languages } from '../../src/texts/texts.ts';
import { Chromium } from '../harness/chromium.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { samplePages } from '../pages/sample_pages.ts';

const SITE = 'https://pages.test';

/** Longer ones do not fit into every column. Browsers hyphenate them. Characters */
const LONGEST_WHOLE = 15;

/** Words that a line break divides, without those of identifiers and addresses. */
function dividedWords(tab: Tab): Promise<readonly string[]> {
  return tab.evaluate((longest) => {
    const divided: string[] = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const { parentElement: parent, textContent: content } = text;
      if (parent === null || content === null) continue;
      if (parent.closest('script, style, option, textarea, code, bdi, a, .unseen')) continue;
      if (!parent.checkVisibility()) continue;
      for (const { 0: word, index } of content.matchAll(/\p{L}{2,}/gu)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const lines = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => top);
        if (word.length <= longest && new Set(lines.map(Math.round)).size > 1) divided.push(word);
      }
    }
    return divided;
  }, LONGEST_WHOLE);
}

/** What hangs out of a cell or line with times, or of the page, while something in its row has the focus. */
function hangingTimes(tab: Tab): Promise<readonly string[]> {
  return tab.evaluate(() => {
    const hanging: string[] = [];
    for (const row of document.querySelectorAll('main :is(tr, li):has(.moment)')) {
      const [within] = [...row.querySelectorAll<HTMLElement>('input, a, button')].filter((one) =>
        one.checkVisibility(),
      );
      if (within === undefined) continue;
      within.focus();
      for (const place of row.querySelectorAll(':is(td, .detail):has(> .moment)'))
        if (place.scrollWidth > place.clientWidth) hanging.push(place.textContent ?? '');
      const { scrollWidth, clientWidth } = document.documentElement;
      if (scrollWidth > clientWidth) hanging.push(`page: ${row.textContent}`);
    }
    return hanging;
  });
}

describe('pages of the console', { skip: CHROMIUM_ABSENCE }, () => {
  let chromium: Chromium;
  before(async () => {
    chromium = await Chromium.start();
  });
  after(() => chromium?.close());

  const pages = new Map<string, Page>(
    languages().flatMap((language) =>
      [...samplePages(language)]
        .filter(([name]) => name.startsWith('console'))
        .map(([name, page]) => [`${name}.${language}`, page] as const),
    ),
  );

  for (const width of [320, 390, 1280])
    test(`at ${width} pixels, no word is divided, and the exact times of a row stay in their place`, async () => {
      const tab = await chromium.page({ viewport: { width, height: 800 } });
      await tab.route(`${SITE}/**`, async (route) => {
        const page = pages.get(new URL(route.request().url()).pathname.slice(1));
        if (page === undefined) return route.abort();
        return route.fulfill({
          body: String(await documentOf(page)),
          contentType: 'text/html; charset=utf-8',
          headers: { 'content-security-policy': contentSecurityPolicy(styleOf(page), page) },
        });
      });
      const wrong: Record<string, readonly string[]> = {};
      for (const name of pages.keys()) {
        await tab.goto(`${SITE}/${name}`);
        const found = [...(await dividedWords(tab)), ...(await hangingTimes(tab))];
        if (found.length > 0) wrong[name] = found;
      }
      assert.deepEqual(wrong, {});
      await tab.close();
    });
});
