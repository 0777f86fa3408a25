import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { sweepInThread } from '../src/serve/sweep_in_thread.ts';
import { until, Workbench } from './harness/program.ts';

const issuer = 'https://login.example';
const workbench = new Workbench();
after(() => workbench.clear());

/** Sweeps until the log has the expected line, then ends the thread. */
async function linesUntil(
  path: string,
  intervalSeconds: number,
  isSeen: (lines: readonly object[]) => boolean,
  checksFirst = false,
): Promise<readonly object[]> {
  const lines: object[] = [];
  const log = {
    info: (line: object) => void lines.push(line),
    error: (line: object) => void lines.push(line),
  };
  const ending = new AbortController();
  const swept = sweepInThread(
    { path, issuer, intervalSeconds, checksFirst, unusedFor: 0, sweepUntilMs: Date.now },
    log,
    ending.signal,
  );
  await until(() => isSeen(lines), 'the thread says so').finally(() => ending.abort());
  await swept;
  return lines;
}

test('a thread sweeps expired rows, reports their number, and ends on request, however long its pause', async () => {
  const path = join(workbench.folder(), 'grantd.db');
  const storage = openSqliteStorage({ path, issuer });
  await storage.oneTimeIdentifiers.take('expired', 1);
  await storage.oneTimeIdentifiers.take('live', Math.ceil(Date.now() / 1000) + 3600);
  const lines = await linesUntil(path, 86_400, ({ length }) => length > 0);
  assert.deepEqual(lines, [{ event: 'swept', rows: 1 }]);
  const database = new DatabaseSync(path);
  const left = database.prepare('SELECT id FROM one_time_identifiers').all();
  database.close();
  assert.deepEqual(
    left.map(({ id }) => id),
    ['live'],
  );
  await storage.close();
});

test('after a crash a thread looks through the file, and marks it if it is damaged', async () => {
  const path = join(workbench.folder(), 'grantd.db');
  openSqliteStorage({ path, issuer, clock: () => Date.now() - 2 * 60 * 1000 }).close();
  const isMarked = () => existsSync(`${path}-corrupt`);
  const database = new DatabaseSync(path);
  database.exec(`INSERT INTO one_time_identifiers (issuer_id, id, expires_at) VALUES (1, 'expired', 1)`);
  const row = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'grants'").get();
  database.close();
  await linesUntil(path, 86_400, ({ length }) => length > 0, true);
  assert.equal(isMarked(), false);

  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096, 'x'), 0, undefined, (Number(row?.rootpage) - 1) * 4096);
  closeSync(file);
  await linesUntil(path, 86_400, isMarked, true);
  assert.equal(isMarked(), true);
});

test('a thread that fails is reported and replaced', async () => {
  const path = join(workbench.folder(), 'no.db');
  writeFileSync(path, 'this is no database, and longer than the header of one would be'.repeat(20));
  const lines = await linesUntil(path, 0.01, ({ length }) => length >= 2);
  for (const line of lines) {
    const { event, cause } = { event: undefined, cause: undefined, ...line };
    assert.deepEqual(
      { event, cause: JSON.stringify(cause).includes('is not an SQLite database') },
      {
        event: 'sweep_failed',
        cause: true,
      },
    );
  }
});
