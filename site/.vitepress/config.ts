import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitepress';
import { addressOf, headingOf, slugOf } from '../addresses.ts';
import { API_FOLDER, PARTS } from '../navigation.ts';
import { drawDiagram } from './diagrams.ts';

const ROOT = dirname(dirname(import.meta.dirname));

/** The browser refuses everything from elsewhere. VitePress needs its inline script and styles. */
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";

/** The pages of the packages' interfaces, from api_pages.ts. */
const API = {
  text: 'TypeScript interfaces',
  link: `/${API_FOLDER}/`,
  collapsed: true,
  items: globSync('**/*.md', { cwd: join(import.meta.dirname, '..', '.pages', API_FOLDER) })
    .map((file) => file.replace(/\.md$/, ''))
    .filter((name) => name !== 'index')
    .sort()
    .map((name) => ({ text: name, link: `/${API_FOLDER}/${name}` })),
};

export default defineConfig({
  title: 'grantd',
  description: 'An OAuth 2.0 and OpenID Connect authorization server in TypeScript',
  srcDir: '.pages',
  outDir: 'dist',
  cleanUrls: false,
  // Links to the reader's own server.
  ignoreDeadLinks: 'localhostLinks',
  head: [
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }],
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    config(markdown) {
      const { fence } = markdown.renderer.rules;
      markdown.renderer.rules.fence = (tokens, index, ...rest) => {
        if (tokens[index]?.info.trim() !== 'mermaid') return fence?.(tokens, index, ...rest) ?? '';
        const heading = tokens.slice(0, index).findLastIndex(({ type }) => type === 'heading_open');
        const label = markdown.utils.escapeHtml(tokens[heading + 1]?.content ?? 'Diagram');
        return drawDiagram(tokens[index]?.content ?? '', label);
      };
    },
  },
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: PARTS.map(({ title, pages }) => ({ text: title, link: addressOf(pages[0]?.path ?? '') })),
    sidebar: PARTS.map(({ title, pages }) => ({
      text: title,
      items: [
        ...pages.map(({ path, title: short }) => ({
          text: short ?? headingOf(readFileSync(join(ROOT, path), 'utf8')),
          link: addressOf(path),
        })),
        ...(title === 'Reference' ? [API] : []),
      ],
    })),
  },
});
