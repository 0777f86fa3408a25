// The ledgers in docs/specs/ tie each requirement to code and tests. Every title in them must have passed, and every
// place must exist. With --places it checks the places alone, before any test has run.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

process.chdir(dirname(import.meta.dirname));

/** Absent if no test has run. */
const outcomes: Readonly<Record<string, 'passed' | 'failed'>> | undefined = process.argv.includes('--places')
  ? undefined
  : JSON.parse(readFileSync('.test-results/titles.json', 'utf8'));
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
  const titles = [...tests.matchAll(/`([^`]+)`/g)].map(([, title = '']) => title.replaceAll('\\|', '|'));
  if (titles.length === 0) faults.push(`${place} names neither a test nor why it is not done`);
  if (outcomes === undefined) return;
  for (const title of titles) {
    if (outcomes[title] !== 'passed') faults.push(`${place}: ${outcomes[title] ?? 'no such test'}: ${title}`);
  }
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
