// Builds the documentation as a website in site/dist, which needs no network. Links that lead nowhere and requests to
// other servers are errors.
//
//     npm run site
//     npm run site -- --serve    then serves it at http://127.0.0.1:4173
// ADR 97.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { LANDING_PAGE, MAP_PAGE, siteFileOf } from './addresses.ts';
import { brokenLinks } from './links.ts';
import { pagePaths, publicAddressOf, sitePage, textOfPage } from './pages.ts';

const { values } = parseArgs({
  options: { serve: { type: 'boolean', default: false }, port: { type: 'string', default: '4173' } },
});

const HERE = import.meta.dirname;
const ROOT = dirname(HERE);
const PAGES = join(HERE, '.pages');
const RESULT = join(HERE, 'dist');

installPackages();
await writePages();
run('typescript/bin/tsc', '--project', HERE);
runFile(join(HERE, '.vitepress', 'api_pages.ts'), PAGES);
run('vitepress/bin/vitepress.js', 'build', HERE);
const requests = globSync('**/*.{html,css}', { cwd: RESULT }).flatMap(requestsElsewhere);
if (requests.length > 0) throw new Error(`requests to other servers:\n${requests.join('\n')}`);
const broken = brokenLinks(RESULT);
if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`);
console.log(`${globSync('**/*.html', { cwd: RESULT }).length} pages in site/dist`);
// VitePress's own preview would listen on every address.
if (values.serve) {
  const flags = ['--outDir', 'dist', '--host', '127.0.0.1', '--port', values.port, '--strictPort'];
  run('vite/bin/vite.js', 'preview', ...flags);
}

/** VitePress and its packages are not among the packages of the repository, so `npm ci` for tests stays small. */
function installPackages(): void {
  const marker = join(HERE, 'node_modules', '.package-lock.json');
  if (existsSync(marker) && statSync(join(HERE, 'package-lock.json')).mtimeMs <= statSync(marker).mtimeMs)
    return;
  console.error('Installing the packages of the website into site/node_modules (first use only) …');
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ['npm', []] : ['node', [npm]];
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(command, [...args, ...flags], { cwd: HERE, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The installation failed; run `npm ci` in site/ to see why.');
}

async function writePages(): Promise<void> {
  rmSync(PAGES, { recursive: true, force: true });
  const paths = pagePaths();
  const known = new Set([...paths, MAP_PAGE, LANDING_PAGE]);
  for (const path of known) {
    const { text, files } = sitePage(path, await textOfPage(path), known);
    const target = join(PAGES, siteFileOf(path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    for (const file of files) {
      const copy = join(PAGES, 'public', publicAddressOf(file));
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(join(ROOT, file), copy);
    }
  }
}

/** What a browser would load from elsewhere, without being asked to. */
function requestsElsewhere(file: string): readonly string[] {
  const text = readFileSync(join(RESULT, file), 'utf8');
  const loaded = file.endsWith('.css')
    ? text.matchAll(/(?:url\(|@import\s+)["']?((?:https?:)?\/\/[^"')\s]+)/g)
    : text.matchAll(
        /<(?:script|link|img|iframe|source|video)\b[^>]*\b(?:src|href)="((?:https?:)?\/\/[^"]+)"/g,
      );
  return [...loaded].map(([, address]) => `${file}: ${address}`);
}

function run(script: string, ...args: readonly string[]): void {
  runFile(join(HERE, 'node_modules', script), ...args);
}

function runFile(file: string, ...args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: HERE, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
