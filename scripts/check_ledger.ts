// The ledgers in docs/specs/ tie each requirement to code and tests. Every title in them must have passed, and every
// place must exist. With --places it checks the places, before any test has run, and whether the sources of the tests
// contain the titles.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

process.chdir(dirname(import.meta.dirname));

/** Absent if no test has run. */
const outcomes: Readonly<Record<string, 'passed' | 'failed'>> | undefined = process.argv.includes('--places')
  ? undefined
  : JSON.parse(readFileSync('.test-results/titles.json', 'utf8'));
/** Stands for an escaped one, which ends no literal. */
const APOSTROPHE = '\u0000';
/** What a test file could have as a title. Absent once tests have run. */
const written = outcomes === undefined ? literalsOfTests() : undefined;
/** The fixed parts of the literals with `${…}`. */
const templates = [...(written ?? [])]
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
  const titles = [...tests.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) =>
    titlesOf(text.replaceAll('\\|', '|')),
  );
  if (titles.length === 0) faults.push(`${place} names neither a test nor why it is not done`);
  for (const title of titles) {
    const outcome = outcomes === undefined ? canBeTitle(title) && 'passed' : outcomes[title];
    if (outcome !== 'passed') faults.push(`${place}: ${outcome || 'no such test'}: ${title}`);
  }
}

/** Titles that differ in one place are one text: `a token is {active, revoked} at the end`. */
function titlesOf(text: string): readonly string[] {
  const [, start = '', items, end = ''] = /^(.*?)\{([^{}]*, [^{}]*)\}(.*)$/.exec(text) ?? [];
  return items === undefined ? [text] : items.split(', ').map((item) => start + item + end);
}

/**
 * What stands between two quotes on one line, in all sources of tests. Some of it is code, but few titles look like code.
 */
function literalsOfTests(): ReadonlySet<string> {
  const literals = new Set<string>();
  for (const file of globSync(['*/test/**/*.ts', 'core/src/storage/kit/**/*.ts']))
    for (const line of readFileSync(file, 'utf8').split('\n'))
      for (const quote of ["'", '"', '`'])
        for (const part of line.replaceAll("\\'", APOSTROPHE).split(quote).slice(1, -1)) literals.add(part);
  return literals;
}

/** Whether the sources have this title, or a template with most of it, or one that joins literals to it. */
function canBeTitle(title: string): boolean {
  const isWritten = (text: string) => written?.has(text.replaceAll("'", APOSTROPHE)) || written?.has(text);
  return (
    isWritten(title) ||
    templates.some((parts) => {
      const fillers = fillersOf(parts, title);
      const fixed = parts.join('').length;
      return (
        fillers &&
        fixed > 0 &&
        (fixed >= title.length / 2 || fillers.every((filler) => !filler || isWritten(filler)))
      );
    })
  );
}

/** What stands between the fixed parts of a template if it makes this title. */
function fillersOf([first = '', ...others]: readonly string[], title: string): readonly string[] | undefined {
  if (!title.startsWith(first)) return undefined;
  const fillers: string[] = [];
  let at = first.length;
  for (const [index, part] of others.entries()) {
    const isLast = index === others.length - 1;
    const next = isLast ? title.length - part.length : title.indexOf(part, at);
    if (next < at || !title.startsWith(part, next)) return undefined;
    fillers.push(title.slice(at, next));
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
