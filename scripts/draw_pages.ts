// Draws every page in each state, at the width of a phone and of a desktop, light and dark. Without a folder it draws
// the pictures of the documentation, in English, into docs/pictures.
//
//     node scripts/draw_pages.ts FOLDER [NAME …]
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CHART_SCRIPT } from '../server/src/console/chart_library.ts';
import type { Page } from '../server/src/pages/layout.ts';
import { contentSecurityPolicy, documentOf, styleOf } from '../server/src/pages/layout.ts';
import { languages } from '../server/src/texts/texts.ts';
import { Chromium } from '../server/test/harness/chromium.ts';
import { samplePages } from '../server/test/pages/sample_pages.ts';

/** Browsers offer passkeys only at https. */
const SITE = 'https://pages.test';
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } };

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
];

const [folder = 'docs/pictures', ...given] = process.argv.slice(2);
const names = process.argv.length > 2 ? given : DOCUMENTED.map((name) => `${name}.en`);
mkdirSync(folder, { recursive: true });

const pages = new Map<string, Page>(
  languages()
    .flatMap((language) =>
      [...samplePages(language)].map(([name, page]) => [`${name}.${language}`, page] as const),
    )
    .filter(([name]) => names.length === 0 || names.some((wanted) => `${name}.`.startsWith(`${wanted}.`))),
);

console.log(`drawing ${pages.size} pages, four pictures each, into ${folder}`);
const chromium = await Chromium.start();
try {
  for (const [size, viewport] of Object.entries(SIZES)) {
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
        await tab.screenshot({ path: join(folder, `${name}.${size}.${colorScheme}.png`), fullPage: true });
      }
      await person.close();
    }
  }
  console.log(`drew ${pages.size * 4} pictures`);
} finally {
  await chromium.close();
}
