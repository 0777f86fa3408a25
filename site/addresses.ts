// The addresses of the website's pages and headings. It imports nothing of the program: VitePress makes one file of its
// configuration, in which modules of the program cannot find their packages.

/** The first page of the website. */
export const LANDING_PAGE = 'site/landing.md';
/** The list of all pages. */
export const MAP_PAGE = 'docs/README.md';

/** The file of a page on the website. */
export function siteFileOf(path: string): string {
  if (path === 'README.md') return 'start.md';
  if (path === LANDING_PAGE) return 'index.md';
  if (path === MAP_PAGE) return 'map.md';
  if (path.startsWith('docs/')) return path.slice('docs/'.length).replace(/README\.md$/, 'index.md');
  return path.replace(/\/README\.md$/, '.md').toLowerCase();
}

/** The address of a page on the website. */
export function addressOf(path: string): string {
  return `/${siteFileOf(path)}`.replace(/(index)?\.md$/, '');
}

/** The heading of a page. */
export function headingOf(text: string): string {
  const heading = /^# (.+)$/m.exec(text)?.[1];
  if (heading === undefined) throw new Error('a page needs a heading');
  return heading;
}

/** As GitHub makes them from headings, so that links with an anchor work in both places. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
