import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { storageKit } from '../../src/storage/kit/kit.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const clock = { nowMs: 0 };

function open(path = join(folder, `${randomUUID()}.db`)) {
  return openSqliteStorage({ path, issuer: 'https://issuer.example', clock: () => clock.nowMs });
}

for (const { group, title, run } of storageKit()) {
  test(`SQLite, ${group}: ${title}`, () =>
    run({
      clock,
      open: () => open(),
      openAnother: ({ path }) => open(path),
      breakStorage: (storage) => storage.close(),
    }));
}
