// The ledgers in docs/specs/ tie each requirement to code and tests (ADR 234). They name a test by the first words of its
// title. Each test with such a title must have passed, and every place must exist. With --places it checks the places,
// before any test has run, and whether the sources of the tests have one such title.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

process.chdir(dirname(import.meta.dirname));

/** Absent if no test has run. */
const outcomes: Readonly<Record<string, 'passed' | 'failed'>> | undefined = process.argv.includes('--places')
  ? undefined
  : JSON.parse(readFileSync('.test-results/titles.json', 'utf8'));
/** Stands for an escaped one, which ends no literal. */
const APOSTROPHE = '\u0000';
/** What a test file could have as a title. Empty once tests have run. */
const written = outcomes === undefined ? literalsOfTests() : new Set<string>();
/** The fixed parts of the literals with `${…}`. */
const templates = [...written]
  .filter((literal) => literal.includes('${'))
  .map((literal) => literal.split(/\$\{[^}]*\}/));
const faults: string[] = [];
let rows = 0;

for (const file of globSync('docs/specs/*.md').sort()) {
  for (const [number, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (!line.startsWith('|') || /^\|[\s:|-]+\|$/.test(line) || /^\|\s*(section|document)/i.test(line))
      continue;
    rows++;
    checkRow(`${file}:${number + 1}`, cellsOf(line));
  }
}

for (const fault of faults) console.error(fault);
console.log(`${rows} requirements`);
process.exit(faults.length === 0 && rows > 0 ? 0 : 1);

function checkRow(place: string, cells: readonly string[]): void {
  if (cells.length !== 5) {
    faults.push(`${place} has ${cells.length} columns instead of 5`);
    return;
  }
  const [, , , where = '', tests = ''] = cells;
  for (const [, path = '', name = ''] of where.matchAll(/`([^`:]+)(?::([^`]+))?`/g)) {
    if (!existsSync(path)) faults.push(`${place} names ${path}, which does not exist`);
    else if (name !== '' && !declares(readFileSync(path, 'utf8'), name)) {
      faults.push(`${place} names ${name}, which is not in ${path}`);
    }
  }
  if (tests.startsWith('not done, because ')) return;
  const openings = [...tests.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) =>
    openingsOf(text.replaceAll('\\|', '|')),
  );
  if (openings.length === 0) faults.push(`${place} names neither a test nor why it is not done`);
  for (const opening of openings) {
    const fault = outcomes === undefined ? faultOfSources(opening) : faultOfOutcomes(outcomes, opening);
    if (fault !== undefined) faults.push(`${place}: ${fault}: ${opening}`);
  }
}

/** Openings that differ in one place are one text: `a token is {active, revoked} at the end`. */
function openingsOf(text: string): readonly string[] {
  const [, start = '', items, end = ''] = /^(.*?)\{([^{}]*, [^{}]*)\}(.*)$/.exec(text) ?? [];
  return items === undefined ? [text] : items.split(', ').map((item) => start + item + end);
}

function faultOfOutcomes(all: NonNullable<typeof outcomes>, opening: string): string | undefined {
  const found = opening in all ? [opening] : Object.keys(all).filter((title) => title.startsWith(opening));
  if (found.length === 0) return 'no such test';
  return found.every((title) => all[title] === 'passed') ? undefined : 'failed';
}

/** Only one title may begin so. That of a template therefore has all its variable parts in the opening. */
function faultOfSources(opening: string): string | undefined {
  const text = opening.replaceAll("'", APOSTROPHE);
  if (written.has(text)) return undefined;
  const begun = [...written].filter((literal) => literal.startsWith(text));
  if (begun.length > 1 || begun[0]?.includes('${')) return 'several tests begin so';
  return begun.length === 1 || templates.some((parts) => canOpen(parts, text)) ? undefined : 'no such test';
}

/** What stands between two quotes on one line, in all sources of tests. Some of it is code, but little looks like a title. */
function literalsOfTests(): ReadonlySet<string> {
  const literals = new Set<string>();
  for (const file of globSync(['*/test/**/*.ts', 'core/src/storage/kit/**/*.ts']))
    for (const line of readFileSync(file, 'utf8').split('\n'))
      for (const quote of ["'", '"', '`'])
        for (const part of line.replaceAll("\\'", APOSTROPHE).split(quote).slice(1, -1))
          literals.add(part.replaceAll("'", APOSTROPHE));
  return literals;
}

/** Whether a template makes a title that begins so, of which it has at least half, or whose other parts are literals. */
function canOpen(parts: readonly string[], opening: string): boolean {
  const last = parts.at(-1) ?? '';
  if (!opening.startsWith(parts[0] ?? '')) return false;
  for (let length = last.length; length >= Math.min(1, last.length); length--) {
    const end = last.slice(0, length);
    if (!opening.endsWith(end)) continue;
    const opened = [...parts.slice(0, -1), end];
    const fixed = opened.join('').length;
    const fillers = fixed > 0 ? fillersOf(opened, opening) : undefined;
    const isKnown = (filler: string) => filler === '' || written.has(filler);
    if (fillers && (fixed >= opening.length / 2 || fillers.every(isKnown))) return true;
  }
  return false;
}

/** What stands between the fixed parts of a template if it makes this text. */
function fillersOf([first = '', ...others]: readonly string[], text: string): readonly string[] | undefined {
  if (!text.startsWith(first)) return undefined;
  const fillers: string[] = [];
  let at = first.length;
  for (const [index, part] of others.entries()) {
    const isLast = index === others.length - 1;
    const next = isLast ? text.length - part.length : text.indexOf(part, at);
    if (next < at || !text.startsWith(part, next)) return undefined;
    fillers.push(text.slice(at, next));
    at = next + part.length;
  }
  return fillers;
}

/** The cells of a table row. A bar inside a cell is written as `\|`. */
function cellsOf(line: string): readonly string[] {
  const cells = line.trim().replaceAll('\\|', '\u0000').split('|').slice(1, -1);
  return cells.map((cell) => cell.replaceAll('\u0000', '\\|').trim());
}

/** Whether a source declares that name, at its top level or as a member. */
function declares(source: string, name: string): boolean {
  const declaration = `(?:function|const|class|interface|type) ${name}\\b`;
  const member = `^ +(?:readonly |static |async |get )*#?${name}(?:\\?|<.*>)?[(:]`;
  return new RegExp(`${declaration}|${member}`, 'm').test(source);
}
