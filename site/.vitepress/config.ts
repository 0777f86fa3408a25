import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitepress';
import { PARTS } from '../navigation.ts';
import { addressOf, headingOf, slugOf } from '../pages.ts';

const ROOT = dirname(dirname(import.meta.dirname));

/** The browser refuses everything from elsewhere. VitePress needs its inline script and styles. */
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

export default defineConfig({
  title: 'grantd',
  description: 'An OAuth 2.0 and OpenID Connect authorization server in TypeScript',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: false,
  head: [
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }],
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
  markdown: { anchor: { slugify: slugOf }, toc: { slugify: slugOf } },
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: PARTS.map(({ title, pages }) => ({ text: title, link: addressOf(pages[0]?.path ?? '') })),
    sidebar: PARTS.map(({ title, pages }) => ({
      text: title,
      collapsed: false,
      items: pages.map(({ path, title: given }) => ({
        text: given ?? headingOf(readFileSync(join(ROOT, path), 'utf8')),
        link: addressOf(path),
      })),
    })),
  },
});
