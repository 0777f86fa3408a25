import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grantd, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('a file that is no database is named, by the server and by every command', async () => {
  const folder = workbench.folder();
  const path = join(folder, 'letter.db');
  writeFileSync(path, 'Dear Alice, '.repeat(100));
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
  ]) {
    const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:letter.db']);
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: ${path} is not an SQLite database: name another with --database.\n`],
    );
  }
});
