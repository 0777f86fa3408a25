import assert from 'node:assert/strict';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { addressOf, LANDING_PAGE, MAP_PAGE, siteFileOf, slugOf } from '../addresses.ts';
import { brokenLinks } from '../links.ts';
import { FOLDERS, PARTS } from '../navigation.ts';
import { pagePaths, sitePage, textOfPage } from '../pages.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGES: ReadonlySet<string> = new Set([...pagePaths(), MAP_PAGE, LANDING_PAGE]);
const page = (path: string, text: string) => sitePage(path, text, PAGES).text;

test('every page of docs is in the navigation once, or in a folder that a page leads to', () => {
  const listed = PARTS.flatMap(({ pages }) => pages.map(({ path }) => path));
  assert.equal(new Set(listed).size, listed.length);
  const found = globSync('docs/**/*.md', { cwd: ROOT }).filter((path) => path !== MAP_PAGE);
  const inFolders = (path: string) => FOLDERS.some((folder) => dirname(path) === folder);
  assert.deepEqual(
    found.filter((path) => !listed.includes(path) && !inFolders(path)),
    [],
  );
});

test('each how-to guide says what it needs, and where to go next', () => {
  const guides = PARTS.find(({ title }) => title === 'How-to guides')?.pages ?? [];
  assert.ok(guides.length > 25);
  for (const { path } of guides) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    assert.match(text, /\b(?:You need|you need)\b/, `${path}: what does a reader need?`);
    assert.match(text, /^(?:Next: |## (?:Next|Where to go next)$)/m, `${path}: where does a reader go next?`);
  }
});

test('no two pages of the website have the same file', () => {
  const files = [...PAGES].map(siteFileOf);
  assert.equal(new Set(files).size, files.length);
});

test('every link of every page leads to a page of the website or to a file', async () => {
  const addresses = new Map([...PAGES].map((path) => [addressOf(path), path]));
  const links: { readonly path: string; readonly link: string }[] = [];
  for (const path of PAGES) {
    const { text } = sitePage(path, await textOfPage(path), PAGES);
    for (const [, link = ''] of text.matchAll(/(?:\]\(|^ +link: )(\/[^)\s]*)/gm)) links.push({ path, link });
  }
  assert.ok(links.length > 300, `${links.length} links`);
  for (const { path, link } of links) {
    const [address = ''] = link.split('#', 1);
    assert.ok(addresses.has(address) || address.startsWith('/files/'), `${path}: ${link}`);
  }
});

test('a link to a page becomes its address, and a link to a source becomes the path', () => {
  const text =
    '[a](adr/README.md) [b](users.md#import-users) [c](../core/src/index.ts) [index.ts](../core/src/index.ts)';
  assert.equal(
    page('docs/hosts.md', text),
    '[a](/adr/) [b](/users#import-users) c (`core/src/index.ts`) `core/src/index.ts`',
  );
});

test('a picture becomes a file of the website', () => {
  const text = '<img src="pictures/sign_in.en.phone.light.png" alt="">';
  const { text: shown, files } = sitePage('docs/sign_in.md', text, PAGES);
  assert.equal(shown, '<img src="/files/docs/pictures/sign_in.en.phone.light.png" alt="">');
  assert.deepEqual(files, ['docs/pictures/sign_in.en.phone.light.png']);
});

test('code stays as it is, and other angle brackets are no elements', () => {
  const code = '```sh\ncat <file # [x](nowhere.md)\n```\n`<a-b>`';
  assert.equal(page('docs/hosts.md', code), code);
  assert.equal(
    page('docs/hosts.md', 'a <PATH> <br> <https://a.example>'),
    'a &lt;PATH> <br> <https://a.example>',
  );
});

test('the landing page leads to pages and shows pictures that the website has', () => {
  const { text, files } = sitePage(LANDING_PAGE, readFileSync(join(ROOT, LANDING_PAGE), 'utf8'), PAGES);
  const links = [...text.matchAll(/^ +link: (.*)$/gm)].map(([, link]) => link);
  assert.ok(links.includes('/start') && links.includes('/tutorials/web_application'), links.join());
  assert.equal(files.length, 2);
  for (const file of files) assert.match(text, new RegExp(`^ +(?:light|dark): /files/${file}$`, 'm'));
});

test('a diagram stays Mermaid, and code in a list stays as it is', () => {
  const text =
    '```mermaid\nflowchart LR\n  a --> b\n```\n\n1. x\n\n   ```html\n   <script src="/x.js">\n   ```\n';
  assert.equal(page('docs/hosts.md', text), text);
});

test('links of the built website that lead to no page, or to no place in one, are found', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-site-'));
  mkdirSync(join(folder, 'a'));
  writeFileSync(
    join(folder, 'index.html'),
    '<a href="/a/b.html#there">x</a> <a href="https://x.example/">y</a>',
  );
  writeFileSync(
    join(folder, 'a', 'b.html'),
    '<h1 id="there">b</h1> <a href="/">x</a> <a href="#gone">x</a> <a class="c" href="../none.html">x</a> <img src="p.png">',
  );
  assert.deepEqual(brokenLinks(folder), ['a/b.html: #gone', 'a/b.html: ../none.html', 'a/b.html: p.png']);
  rmSync(folder, { recursive: true });
});

test('a link that leads to no file is an error', () => {
  assert.throws(() => page('docs/hosts.md', '[x](nowhere.md)'), {
    message: 'docs/hosts.md: nowhere.md leads to no file',
  });
});

test('anchors are those of GitHub', () => {
  assert.equal(slugOf('Client secrets: `HMAC`, and a user’s own'), 'client-secrets-hmac-and-a-users-own');
});

test('the configuration of VitePress imports nothing of the program, which it could not load', () => {
  const imported = new Set(['site/.vitepress/config.ts']);
  for (const file of imported)
    for (const [, target = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(/ from '(\.[^']+)'/g))
      imported.add(join(dirname(file), target));
  assert.ok(imported.size > 1);
  assert.deepEqual(
    [...imported].filter((file) => !file.startsWith('site/')),
    [],
  );
});
