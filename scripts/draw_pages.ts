// Draws every page in each state, at the width of a phone and of a desktop, light and dark. Without a folder it draws
// the pictures of the documentation, in English, into docs/pictures. `--help` prints how to call it.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { BrowserContext } from 'playwright-core';
import { CHART_SCRIPT } from '../server/src/console/chart_library.ts';
import type { Page } from '../server/src/pages/drawing/layout.ts';
import { contentSecurityPolicy, documentOf, styleOf } from '../server/src/pages/drawing/layout.ts';
import { languages } from '../server/src/texts/texts.ts';
import { Chromium } from '../server/test/harness/chromium.ts';
import { samplePages } from '../server/test/pages/sample_pages.ts';

/** Browsers offer passkeys only at https. */
const SITE = 'https://pages.test';
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } };

/** A picture of the documentation ends there. Only the audit trail is longer. Pixels */
const LONGEST = { phone: 5200, desktop: 3400 };

/** The pictures in docs/sign_in.md, branding.md, self_service.md, passkeys.md, providers.md and console.md. */
const DOCUMENTED = [
  'sign_in',
  'sign_in_providers',
  'theme',
  'choose_account',
  'consent',
  'account',
  'account_security',
  'account_security_factors',
  'second_all',
  'link_reset',
  'logout',
  'signed_out',
  'problem_unavailable',
  'console',
  'console_token_dead',
  'console_disable_user',
  'console_keys',
  'console_audit',
  'console_users',
  'console_client_added',
  'console_trial_whole',
];

const HELP = `Usage: npm run pictures -- [--sheets] [FOLDER [NAME …]]

  FOLDER     where the pictures go. Default: docs/pictures, with the pictures of the documentation only
  NAME       a page, with or without its language, such as console_users.de. Default: all pages
  --sheets   also puts the pages for users, in English, on one sheet per width and theme, into docs/pictures
  --help     prints this`;

function typedWords() {
  try {
    return parseArgs({
      options: { sheets: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(`${error.message}\n\n${HELP}`);
    process.exit(2);
  }
}

const { values, positionals } = typedWords();
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const drawsSheets = values.sheets;
const [folder = 'docs/pictures', ...chosen] = positionals;
if (drawsSheets && positionals.length !== 1) {
  console.error('--sheets: expected one folder for the pictures of every state, and no names');
  process.exit(2);
}
const names = positionals.length > 0 ? chosen : DOCUMENTED.map((name) => `${name}.en`);
mkdirSync(folder, { recursive: true });

const pages = new Map<string, Page>(
  languages()
    .flatMap((language) =>
      [...samplePages(language)].map(([name, page]) => [`${name}.${language}`, page] as const),
    )
    .filter(([name]) => names.length === 0 || names.some((wanted) => `${name}.`.startsWith(`${wanted}.`))),
);

const pictureOf = (name: string, size: string, theme: string) => join(folder, `${name}.${size}.${theme}.png`);

/** Thumbnails of the pages for users. The console has guides and pictures of its own. */
const COLUMNS = { phone: 12, desktop: 8 } as const;
const SHEET_WIDTH = 1200;

/** Puts the drawn pictures of one width and theme on one sheet, each cut to the height of the screen. */
async function drawSheet(
  person: BrowserContext,
  size: keyof typeof SIZES,
  theme: 'light' | 'dark',
): Promise<void> {
  const { width, height } = SIZES[size];
  const documented = [...pages.keys()].filter((name) => name.endsWith('.en') && !name.startsWith('console'));
  const tab = await person.newPage();
  await tab.setViewportSize({ width: SHEET_WIDTH, height: 800 });
  await tab.route(`${SITE}/**`, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name !== 'sheet')
      return route.fulfill({ body: readFileSync(pictureOf(name, size, theme)), contentType: 'image/png' });
    const figures = documented.map(
      (item) =>
        `<figure><img src="${SITE}/${item}"><figcaption>${item.slice(0, -'.en'.length)}</figcaption></figure>`,
    );
    const [ground, ink] = theme === 'light' ? ['#ccc', '#222'] : ['#333', '#ddd'];
    const style = `body { margin: 8px; display: grid; grid-template-columns: repeat(${COLUMNS[size]}, 1fr); gap: 8px;
        font: 9px/1.2 sans-serif; background: ${ground}; color: ${ink} }
      figure { margin: 0; min-width: 0 } figcaption { overflow-wrap: anywhere }
      img { display: block; width: 100%; aspect-ratio: ${width} / ${height}; object-fit: cover; object-position: top }`;
    const body = `<!doctype html><style>${style}</style>${figures.join('')}`;
    return route.fulfill({ body, contentType: 'text/html; charset=utf-8' });
  });
  await tab.goto(`${SITE}/sheet`);
  await tab.screenshot({ path: join('docs', 'pictures', `sheet.${size}.${theme}.png`), fullPage: true });
  await tab.close();
}

console.log(`drawing ${pages.size} pages, four pictures each, into ${folder}`);
const chromium = await Chromium.start();
try {
  for (const size of ['phone', 'desktop'] as const) {
    const viewport = SIZES[size];
    for (const colorScheme of ['light', 'dark'] as const) {
      const person = await chromium.person({ viewport, colorScheme, javaScriptEnabled: true });
      const tab = await person.newPage();
      // Served with the page's policy, so that the picture shows nothing that the policy forbids.
      await tab.route(`${SITE}/**`, async (route) => {
        const { pathname } = new URL(route.request().url());
        if (pathname.endsWith('/uplot.js'))
          return route.fulfill({ body: CHART_SCRIPT, contentType: 'text/javascript' });
        const page = pages.get(pathname.slice(1));
        if (page === undefined) return route.abort();
        const policy = contentSecurityPolicy(styleOf(page), page);
        return route.fulfill({
          body: String(await documentOf(page)),
          contentType: 'text/html; charset=utf-8',
          headers: { 'content-security-policy': policy },
        });
      });
      for (const name of pages.keys()) {
        await tab.goto(`${SITE}/${name}`);
        const whole = await tab.evaluate(() => document.documentElement.scrollHeight);
        const height = positionals.length > 0 ? whole : Math.min(whole, LONGEST[size]);
        const clip = { x: 0, y: 0, width: viewport.width, height };
        await tab.screenshot({ path: pictureOf(name, size, colorScheme), fullPage: true, clip });
      }
      if (drawsSheets) await drawSheet(person, size, colorScheme);
      await person.close();
    }
  }
  console.log(`drew ${pages.size * 4} pictures`);
} finally {
  await chromium.close();
}
