// Finds links in the built website that lead to no page, or to no place in a page.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const LINK = /<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g;
const PLACE = /\sid="([^"]*)"/g;
/** Of another server, or data. */
const ABSOLUTE = /^(?:[a-z][a-z\d+.-]*:|\/\/)/i;

/** @returns each link with the page that has it */
export function brokenLinks(folder: string): readonly string[] {
  const places = new Map<string, ReadonlySet<string>>();
  for (const page of globSync('**/*.html', { cwd: folder })) {
    const found = readFileSync(join(folder, page), 'utf8').matchAll(PLACE);
    places.set(page, new Set([...found].map(([, id = '']) => unescapeText(id))));
  }
  return [...places.keys()].sort().flatMap((page) => {
    const links = readFileSync(join(folder, page), 'utf8').matchAll(LINK);
    const targets = new Set([...links].map(([, link = '']) => unescapeText(link)));
    return [...targets].filter((link) => !leadsSomewhere(page, link)).map((link) => `${page}: ${link}`);
  });

  function leadsSomewhere(page: string, link: string): boolean {
    if (ABSOLUTE.test(link)) return true;
    const [address = '', anchor = ''] = link.split('#', 2);
    const path = decodeURIComponent(address);
    const target = path === '' ? page : posix.join(path.startsWith('/') ? '.' : posix.dirname(page), path);
    const file = target === '.' || target.endsWith('/') ? posix.join(target, 'index.html') : target;
    if (!existsSync(join(folder, file))) return false;
    return anchor === '' || places.get(file)?.has(decodeURIComponent(anchor)) === true;
  }
}

function unescapeText(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}
