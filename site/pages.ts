// Turns the repository's Markdown into the pages of the website: their addresses, links and pictures.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { BUILT_PAGES, builtPage } from '../scripts/built_pages.ts';
import { addressOf, headingOf } from './addresses.ts';
import { FOLDERS, PARTS } from './navigation.ts';

const ROOT = dirname(import.meta.dirname);

/** `[text](target)`, `[name]: target`, `src="target"`, and members of the landing page, with the text before the target. */
const LINK =
  /(\]\(<?|^\[[^\]]+\]: <?|\b(?:src|href)="|^ +(?:link|light|dark): )(?![a-z][a-z\d+.-]*:|\/\/|#)([^)\s>"]+)/gim;
/** A fenced block or code in a line. */
const CODE = /(^ *```.*?^ *```$|`[^`\n]+`)/gms;
/** The website's pages are Vue components, for which every other element must be closed. */
const NO_ELEMENT = /<(?!\/?(?:img|a|br|sub|sup|p)\b|!--|https?:)/g;
/** In the repository, this is how to read a page that is built. */
const HELP = /`npx grantd help ([a-z-]+)`/g;
const LINK_TO_SOURCE = /\[([^\]]+)\]\(source:([^)]+)\)/g;

/** The paths of all pages in the repository. */
export function pagePaths(): readonly string[] {
  const listed = PARTS.flatMap(({ pages }) => pages.map(({ path }) => path));
  const inFolders = FOLDERS.flatMap((folder) => globSync(`${folder}/*.md`, { cwd: ROOT }));
  return [...new Set([...listed, ...inFolders])].sort();
}

/** The Markdown of a page. */
export async function textOfPage(path: string): Promise<string> {
  return (await builtPage(path)) ?? readFileSync(join(ROOT, path), 'utf8');
}

export interface SitePage {
  readonly text: string;
  /** Paths in the repository of files that the page shows or offers, such as pictures. */
  readonly files: readonly string[];
}

/**
 * The Markdown of a page for the website. Links to other pages lead to their addresses, and links to sources, which the
 * website does not have, become the path of the source.
 * @throws Error if a link leads to no file
 */
export function sitePage(path: string, text: string, pages: ReadonlySet<string>): SitePage {
  const files: string[] = [];
  const withTargets = outsideCode(text, (part) =>
    part.replaceAll(LINK, (_, before: string, link: string) => {
      const [target = '', anchor] = decodeURIComponent(link).split('#', 2);
      const file = normalize(join(dirname(path), target)).replace(/\/$/, '');
      const after = anchor === undefined ? '' : `#${anchor}`;
      const page = pages.has(file) ? file : `${file}/README.md`;
      if (pages.has(page)) return `${before}${addressOf(page)}${after}`;
      if (!existsSync(join(ROOT, file))) throw new Error(`${path}: ${link} leads to no file`);
      if (isPublic(file)) {
        files.push(file);
        return `${before}${publicAddressOf(file)}`;
      }
      return `${before}source:${file}`;
    }),
  );
  const withHelp = withTargets.replaceAll(HELP, (code, topic: string) => {
    const built = `docs/${topic.replaceAll('-', '_')}.md`;
    return BUILT_PAGES.includes(built) ? `[${code}](${addressOf(built)})` : code;
  });
  const shown = outsideFences(withHelp, (part) =>
    part.replaceAll(LINK_TO_SOURCE, (_, label: string, file: string) =>
      label.replaceAll('`', '') === basename(file) || file.endsWith(label.replaceAll('`', ''))
        ? `\`${file}\``
        : `${label} (\`${file}\`)`,
    ),
  );
  const escaped = outsideCode(shown, (part) => part.replaceAll(NO_ELEMENT, '&lt;'));
  return { text: escaped, files };
}

/** The address of a file that is no page. */
export function publicAddressOf(file: string): string {
  return `/files/${file}`;
}

/** The map of the documentation: docs/README.md. */
export function mapOfPages(): string {
  const parts = PARTS.map(({ title, pages }) => {
    const rows = pages.map(({ path, to, title: short }) => {
      const heading = short ?? headingOf(readFileSync(join(ROOT, path), 'utf8'));
      if (BUILT_PAGES.includes(path))
        return `- ${heading}: \`npx grantd help ${basename(path, '.md').replaceAll('_', '-')}\``;
      const target = path.startsWith('docs/') ? path.slice('docs/'.length) : `../${path}`;
      const link = `[${heading}](${target})`;
      return to === undefined ? `- ${link}` : `| ${to} | ${link} |`;
    });
    const isTable = pages.some(({ to }) => to !== undefined);
    return `## ${title}\n\n${isTable ? '| to | read |\n| --- | --- |\n' : ''}${rows.join('\n')}\n`;
  });
  return `# Documentation

Find the page for what you want to do. \`npm run site -- --serve\` shows all pages as a website with a search.

${parts.join('\n')}`;
}

/** Sources are not on the website. Pictures, and files that an operator installs, are. */
function isPublic(file: string): boolean {
  return /\.(?:png|svg)$/.test(file) || /^docs\/monitoring\//.test(file);
}

function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(CODE)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}

function outsideFences(text: string, change: (part: string) => string): string {
  return text
    .split(/(^ *```.*?^ *```$)/gms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
