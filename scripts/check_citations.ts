// Checks that every cited section exists.
//
// - A bare section sign means the document in the header of the file: `// Token revocation. § refers to RFC 7009.`
// - `grantd §5.4` is a section of docs/specification.md.
// - scripts/cited_documents.txt lists every other document, with the sections that we cite.
// - `ADR 12` is a decision in docs/adr/ (ADR 163). A source cites each decision beside the code that it explains, unless the
//   decision says why no code can cite it.
//
// Prints each breach and exits with 1 if there is one. `check_citations.ts FOLDER` checks another tree.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';

process.chdir(process.argv[2] ?? dirname(import.meta.dirname));

const FILES = [
  '*.md',
  'docs/**/*.md',
  '{core,protect,server,examples,bench,reliability,scripts,runtimes}/**/*.{md,ts,mts,mjs}',
];
const SPECIFICATION = 'docs/specification.md';
const DOCUMENTS = 'scripts/cited_documents.txt';
/** The name of the specification in its own header. */
const ITSELF = 'this document';
const OURS = 'grantd';
const DECISIONS = 'docs/adr/[0-9]*-*.md';
const SOURCES = '{{core,protect,server}/{src,bin},bench,reliability,runtimes,scripts,site}/**/*.{ts,mts,mjs}';
/** In a decision. The reason follows. */
const UNCITED = 'Cited by no code:';

const HEADER = /^(?:\/\/ (?:.*\. )?)?\u00a7 refers to ([^.]+(?:\.\d+[^.]*)*)\.$/m;
/** The section is a number or an appendix. The word replaces the sign in error descriptions, which are ASCII. */
const CITATION = /(?:\u00a7|(?<=\bRFC\s\d+ )section )(?<section>(?:\d+|[A-Z])(?:\.\d+)*(?!\w|\.\d))?/g;
/** Between two sections of one document. */
const CONTINUES = /^(?:\s*\(\d+(?:(?:, | to )\d+)*\))?(?:[,;]\s*(?:and|or|to)?|\s+(?:and|or|to))\s+$/;
/** The end of a document's name, unlike the start of a sentence. */
const NAME_BEFORE = /(?<![\w-])(?!(?:As|By|In|See|Under)\b)[A-Z0-9](?:[\w.-]*\w)?\s+$/;

const breaches: string[] = [];
const documents = documentsIn(read(DOCUMENTS));
const ownSections = new Set(
  [...read(SPECIFICATION).matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, section = '']) => section),
);

const isGenerated = (path: string) => /^(?:node_modules|dist|\.next|\.open-next)$/.test(basename(path));
for (const file of globSync(FILES, { exclude: isGenerated }).sort()) checkFile(file, read(file));

checkDecisions();

for (const breach of breaches) console.error(breach);
process.exitCode = breaches.length === 0 ? 0 : 1;

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/** The sections of each document, by every name that citations use. */
function documentsIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const line of text.split('\n')) {
    const [names = '', , sections = ''] = line.split('|').map((cell) => cell.trim());
    if (names === '' || names.startsWith('#')) continue;
    const known = new Set(sections.split(', '));
    for (const name of names.split(', ')) {
      if (found.has(name)) breaches.push(`${DOCUMENTS} lists ${name} twice`);
      found.set(name, known);
    }
  }
  return found;
}

function checkFile(file: string, source: string): void {
  const isMarkdown = file.endsWith('.md');
  const refersTo = HEADER.exec(headerOf(source, isMarkdown))?.[1];
  checkHeader(file, refersTo);
  const text = proseOf(source, isMarkdown);
  checkCitations(file, text, refersTo === ITSELF ? OURS : refersTo);
  checkSpelling(file, text);
}

function checkHeader(file: string, refersTo: string | undefined): void {
  const isKnown = refersTo === ITSELF ? file === SPECIFICATION : documents.has(refersTo ?? '');
  if (refersTo !== undefined && !isKnown)
    breaches.push(`${file}: its header names ${refersTo}, which ${DOCUMENTS} does not list`);
  const number = /^rfc(\d+)_.*\.test\.ts$/.exec(basename(file))?.[1];
  if (number !== undefined && refersTo !== `RFC ${number}`)
    breaches.push(`${file}: its header does not say that the section sign refers to RFC ${number}`);
}

function checkCitations(file: string, text: string, refersTo: string | undefined): void {
  let cited: string | undefined;
  let end = 0;
  for (const match of text.matchAll(CITATION)) {
    const place = `${file}:${lineOf(text, match.index)}`;
    const { section } = match.groups ?? {};
    if (section === undefined) {
      if (!text.startsWith(' refers to ', match.index + 1))
        breaches.push(`${place}: a section sign without a section`);
      continue;
    }
    const before = textBefore(text, match.index);
    const isContinued = cited !== undefined && CONTINUES.test(text.slice(end, match.index));
    if (!isContinued) cited = documentBefore(before);
    end = match.index + match[0].length;
    if (cited !== undefined) checkSection(place, cited, section);
    else if (NAME_BEFORE.test(before))
      breaches.push(`${place}: section ${section} is of a document that ${DOCUMENTS} does not list`);
    else if (refersTo === undefined)
      breaches.push(`${place}: section ${section} is of no document, and the header of the file names none`);
    else checkSection(place, refersTo, section);
  }
}

/** A decision that no code cites is found by no reader of the code. */
function checkDecisions(): void {
  const decisions = new Map(globSync(DECISIONS).map((file) => [Number(basename(file).slice(0, 4)), file]));
  if (decisions.size === 0) return;
  const cited = new Set<number>();
  for (const file of globSync(SOURCES, { exclude: isGenerated }))
    for (const [, number] of read(file).matchAll(/\bADR (\d+)\b/g)) {
      cited.add(Number(number));
      if (!decisions.has(Number(number))) breaches.push(`${file}: there is no ADR ${number}`);
    }
  for (const [number, file] of decisions) {
    const text = read(file);
    if (!cited.has(number) && !text.includes(UNCITED))
      breaches.push(
        `${file}: no source cites ADR ${number}. Cite it beside its code, or write: ${UNCITED} REASON.`,
      );
  }
}

/** An RFC needs a uniform spelling and an entry in the table, even without a section. */
function checkSpelling(file: string, text: string): void {
  for (const { 0: wrong, index } of text.matchAll(/\bRFC-?\d+|\bRFC \d+(?:, ?\u00a7|,? Section| sec\.)/g))
    breaches.push(`${file}:${lineOf(text, index)}: ${wrong} is not spelled as a citation`);
  for (const { 0: name, index } of text.matchAll(/\bRFC \d+(?:bis)?\b/g)) {
    if (!documents.has(name))
      breaches.push(`${file}:${lineOf(text, index)}: ${DOCUMENTS} does not list ${name}`);
  }
}

/** The text before a citation, on one line. */
function textBefore(text: string, index: number): string {
  return text.slice(Math.max(0, index - 120), index).replaceAll(/\s+/g, ' ');
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** The comment at the top of a source; the text before the first table or section of a page. */
function headerOf(source: string, isMarkdown: boolean): string {
  const lines = source.split('\n');
  const first = lines.findIndex((line) =>
    isMarkdown ? /^(?:##|\|)/.test(line) : !/^(?:\/\/|#!)/.test(line),
  );
  return lines.slice(0, first === -1 ? lines.length : first).join('\n');
}

/** A source without comment marks, because a name may end the line before its section; a page without code. */
function proseOf(source: string, isMarkdown: boolean): string {
  return isMarkdown
    ? source
        .replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]/g, ''))
        .replaceAll(/`[^`\n]*`/g, '')
    : source.replaceAll(/^[ \t]*(?:\/\*\*|\*\/|\*|\/\/)/gm, '');
}

/** The document that is named right before a section sign. */
function documentBefore(before: string): string | undefined {
  if (new RegExp(`\\b${OURS} $`).test(before)) return OURS;
  return [...documents.keys()].find((name) => before.endsWith(`${name} `));
}

function checkSection(place: string, document: string, section: string): void {
  const isListed = document === OURS ? ownSections.has(section) : documents.get(document)?.has(section);
  if (isListed) return;
  const list = document === OURS ? SPECIFICATION : DOCUMENTS;
  breaches.push(`${place}: ${list} has no section ${section} of ${document}`);
}
