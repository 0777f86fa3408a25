import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { FOLDERS, PARTS } from '../navigation.ts';
import { addressOf, pagePaths, siteFileOf, sitePage, slugOf } from '../pages.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGES: ReadonlySet<string> = new Set([...pagePaths(), 'docs/README.md']);
const page = (path: string, text: string) => sitePage(path, text, PAGES).text;

test('every page of docs is in the navigation once, or in a folder that a page leads to', () => {
  const listed = PARTS.flatMap(({ pages }) => pages.map(({ path }) => path));
  assert.equal(new Set(listed).size, listed.length);
  const found = globSync('docs/**/*.md', { cwd: ROOT }).filter((path) => path !== 'docs/README.md');
  const inFolders = (path: string) => FOLDERS.some((folder) => dirname(path) === folder);
  assert.deepEqual(
    found.filter((path) => !listed.includes(path) && !inFolders(path)),
    [],
  );
});

test('no two pages of the website have the same file', () => {
  const files = [...PAGES].map(siteFileOf);
  assert.equal(new Set(files).size, files.length);
});

test('every link of every page leads to a page of the website or to a file', () => {
  const addresses = new Map([...PAGES].map((path) => [addressOf(path), path]));
  const links = [...PAGES].flatMap((path) => {
    const { text } = sitePage(path, readFileSync(join(ROOT, path), 'utf8'), PAGES);
    return [...text.matchAll(/\]\((\/[^)\s]*)\)/g)].map(([, link = '']) => ({ path, link }));
  });
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

test('a link that leads to no file is an error', () => {
  assert.throws(() => page('docs/hosts.md', '[x](nowhere.md)'), {
    message: 'docs/hosts.md: nowhere.md leads to no file',
  });
});

test('anchors are those of GitHub', () => {
  assert.equal(slugOf('Client secrets: `HMAC`, and a user’s own'), 'client-secrets-hmac-and-a-users-own');
});
