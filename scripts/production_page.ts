import { readFileSync } from 'node:fs';
import type { Option } from '@grantd/core/options';
import { OPTIONS } from '../server/src/config/options.ts';

const TABLE = /(?<=^\| change of \| takes effect \|\n\| --- \| --- \|\n)(?:\|.*\n)*/m;

/** `docs/production.md` with a row for each kind of change that a reload may not make. */
export function productionPage(): string {
  const page = readFileSync('docs/production.md', 'utf8');
  if (!TABLE.test(page)) throw new Error('docs/production.md has no table of changes');
  const options = Object.entries<Option<unknown, unknown>>(OPTIONS);
  const names = (isNamed: (option: Option<unknown, unknown>) => boolean) =>
    options
      .filter(([, option]) => isNamed(option))
      .map(([name]) => `\`${name}\``)
      .join(', ');
  const isFile = ({ kind }: Option<unknown, unknown>) => /^(?:FILE|FOLDER)$/.test(kind.placeholder);
  const rows = [
    [names(({ needsRestart }) => needsRestart === true), 'after a restart'],
    [
      `TLS on or off. Then also ${names(({ group, needsRestart }) => group === 'TLS' && needsRestart !== true)}`,
      'after a restart',
    ],
    [
      `the content of the files in ${names((option) => option.group === 'TLS' && isFile(option))}`,
      'at a reload, and within seconds without one',
    ],
    [
      `the content of the files in ${names((option) => option.group !== 'TLS' && isFile(option))}; the secret file of SQLite`,
      'at a reload',
    ],
    ['every other option in the file', 'at a reload'],
    [
      'flags, and variables such as `GRANTD_SECRET`',
      'after a restart, because they do not change while a process runs',
    ],
  ];
  return page.replace(TABLE, rows.map((cells) => `| ${cells.join(' | ')} |\n`).join(''));
}
