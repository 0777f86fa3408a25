// Checks that relative links lead somewhere.
//
// - Links and pictures of every Markdown file: the file exists, and so does the heading of an anchor.
// - Paths such as `core/src/server/endpoints.ts` in pages and in comments. Decisions, the changelog and results may name files
//   that are gone.
// - The list of folders in CONTRIBUTING.md: it names each one once.
//
// Prints each breach and exits with 1 if there is one. `check_links.ts FOLDER` checks another tree.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BUILT_PAGES, builtPage } from './built_pages.ts';

process.chdir(process.argv[2] ?? dirname(import.meta.dirname));

const PACKAGES = '{core,protect,server,examples,bench,reliability,scripts,runtimes}';
const PAGES = ['*.md', 'docs/**/*.md', `${PACKAGES}/**/*.md`];
const SOURCES = [`${PACKAGES}/**/*.{ts,mts,mjs}`];

/** `[text](target)`, `[name]: target`, `src="target"`. */
const LINK =
  /\]\(<?(?<inline>[^)\s>]+)>?[^)]*\)|^\[[^\]]+\]: <?(?<named>[^\s>]+)|\b(?:src|href)="(?<html>[^"]+)"/gm;
/** Its names are short. Some are of files in `core/src/`. */
const DIAGRAM = /^```mermaid.*?^```$/gms;
/** Of another server, or an address. */
const ABSOLUTE = /^(?:[a-z][a-z\d+.-]*:|\/\/)/i;
const HEADING = /^#{1,6} +(.+?)(?: +#+)?$/gm;
const ANCHOR = /<a (?:id|name)="([^"]+)"/g;
/** A file of this repository, or of the folder of the file that names it. */
const PATH =
  /(?<![\w./@-])(?:core|protect|server|examples|bench|reliability|scripts|runtimes|docs)\/[\w./-]+\.(?:ts|mts|mjs|md|json|svg)\b/g;
const PAST = /^(?:docs\/adr\/|CHANGELOG\.md|bench\/results\/)/;

const breaches: string[] = [];
const anchors = new Map<string, ReadonlySet<string>>();
const isGenerated = (path: string) =>
  /^(?:node_modules|dist|\.next|\.open-next|generated)$/.test(basename(path));

for (const page of globSync(PAGES, { exclude: isGenerated }).sort()) {
  const text = read(page);
  checkLinks(page, withoutCode(text));
  if (!PAST.test(page)) checkPaths(page, text.replaceAll(DIAGRAM, '').replaceAll(LINK, ''));
}
// Another tree has no pages that are built from this one.
if (process.argv[2] === undefined)
  for (const page of BUILT_PAGES) checkLinks(page, withoutCode((await builtPage(page)) ?? ''));
for (const source of globSync(SOURCES, { exclude: isGenerated }).sort())
  checkPaths(source, commentsOf(read(source)));

if (existsSync('CONTRIBUTING.md')) checkFolders('CONTRIBUTING.md', read('CONTRIBUTING.md'));

for (const breach of breaches) console.error(breach);
process.exitCode = breaches.length === 0 ? 0 : 1;

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/** Folders that the list must name: those at the top, and those of the two large packages. */
function checkFolders(page: string, text: string): void {
  const named = Array.from(text.matchAll(/^ {4}([\w/]+)\/ {2,}\S/gm), ([, folder = '']) => folder);
  const folders = globSync(['*', '{core,server}/src/*']).filter(
    (path) => statSync(path).isDirectory() && !isGenerated(path) && !basename(path).startsWith('.'),
  );
  for (const folder of folders) {
    const times = named.filter((item) => item === folder).length;
    if (times !== 1) breaches.push(`${page}: names the folder ${folder}/ ${times} times instead of once`);
  }
  for (const folder of named)
    if (!existsSync(folder)) breaches.push(`${page}: there is no folder ${folder}/`);
}

function checkLinks(page: string, text: string): void {
  for (const { groups = {}, index } of text.matchAll(LINK)) {
    const link = groups.inline ?? groups.named ?? groups.html ?? '';
    if (ABSOLUTE.test(link)) continue;
    const place = `${page}:${lineOf(text, index)}`;
    const [path = '', anchor] = link.split('#', 2);
    const target = path === '' ? page : join(dirname(page), decodeURIComponent(path));
    if (path === '' && anchor !== undefined && anchorsOf(text).has(anchor)) continue;
    if (!existsSync(target)) breaches.push(`${place}: ${link} leads to no file`);
    else if (anchor !== undefined && !hasAnchor(target, anchor))
      breaches.push(`${place}: ${target} has no heading for #${anchor}`);
  }
}

function hasAnchor(target: string, anchor: string): boolean {
  if (!target.endsWith('.md') || statSync(target).isDirectory()) return true;
  const known = anchors.get(target) ?? anchorsOf(read(target));
  anchors.set(target, known);
  return known.has(anchor);
}

/** As GitHub derives them from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const found = new Set([...text.matchAll(ANCHOR)].map(([, name = '']) => name));
  for (const [, heading = ''] of withoutFences(text).matchAll(HEADING)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-');
    let unique = slug;
    for (let count = 1; found.has(unique); count += 1) unique = `${slug}-${count}`;
    found.add(unique);
  }
  return found;
}

function checkPaths(file: string, text: string): void {
  for (const { 0: path, index } of text.matchAll(PATH)) {
    if (!existsSync(path) && !existsSync(join(dirname(file), path)))
      breaches.push(`${file}:${lineOf(text, index)}: there is no ${path}`);
  }
}

/** Line numbers stay. */
function withoutFences(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gms, (block) => block.replaceAll(/[^\n]/g, ''));
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/`[^`\n]*`/g, '');
}

/** A trailing comment counts if no text is before it, since a text may look like one. */
function commentsOf(source: string): string {
  return source.replaceAll(
    /^(?!\s*(?:\/\/|\/?\*)).*$/gm,
    (line) => /^[^'"`]*(\/\/ .*)$/.exec(line)?.[1] ?? '',
  );
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
