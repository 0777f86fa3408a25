// The measurement behind docs/scale.md, with few tokens.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TOKENS = 10_000;

const SQLITE = { storage: 'sqlite', name: 'SQLite', skip: false } as const;
const POSTGRESQL = { storage: 'postgres', name: 'PostgreSQL', skip: POSTGRES_ABSENCE } as const;

/** PostgreSQL takes a minute more. `scripts/test.ts --every-pair` measures it too. */
const STORAGES = process.env.TEST_EVERY_PAIR === 'yes' ? [SQLITE, POSTGRESQL] : [SQLITE];

/** The first two cells of each row of a table. */
function tableAfter(text: string, beginning: string): ReadonlyMap<string, string> {
  const [, after = ''] = text.split(`\n${beginning}`);
  const [table = ''] = after.split('\n\n');
  const rows = table.split('\n').map((line) => line.split(' | '));
  return new Map(rows.slice(2).map(([name = '', value = '']) => [name.slice('| '.length), value]));
}

describe('npm run measure:scale', { timeout: 240_000 }, () => {
  for (const { storage, name, skip } of STORAGES) {
    test(`${name}: fills a database, measures it, and prints what docs/scale.md has`, { skip }, async () => {
      const args = ['--tokens', String(TOKENS), '--storage', storage, '--requests', '40', '--seconds', '1'];
      const { stdout } = await promisify(execFile)(process.execPath, [
        join(ROOT, 'reliability', 'scale.ts'),
        ...args,
      ]);
      const printed = tableAfter(`\n${stdout}`, `| ${name} |`);
      const number = (row: string) => Number(printed.get(row)?.replace(/ \|$/, '').replaceAll(',', ''));
      assert.ok(number('rows of tokens') > TOKENS * 0.9, stdout);
      assert.ok(number('expired tokens') > TOKENS * 0.05, stdout);
      for (const row of ['size of the database for each token, bytes', 'sweep: tokens a second', 'backup, s'])
        assert.ok(number(row) > 0, `${row} in ${stdout}`);
      const documented = tableAfter(readFileSync(join(ROOT, 'docs', 'scale.md'), 'utf8'), `| ${name} |`);
      assert.ok(documented.size > 10, 'the page has a table of this storage');
      assert.deepEqual(
        [...documented.keys()].filter((row) => !printed.has(row)),
        [],
        'the page has only rows that the command prints',
      );
    });
  }
});
