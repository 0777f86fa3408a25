import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { sweepInThread } from '../src/serve/sweep_in_thread.ts';
import { until, Workbench } from './harness/program.ts';
import { deletionLimitAt } from './harness/program_data.ts';

const issuer = 'https://login.example';
const workbench = new Workbench();
after(() => workbench.clear());

/** Sweeps until the log has the expected line, then ends the thread. */
async function linesUntil(
  path: string,
  intervalSeconds: number,
  isSeen: (lines: readonly object[]) => boolean,
): Promise<readonly object[]> {
  const lines: object[] = [];
  const log = {
    info: (line: object) => void lines.push(line),
    error: (line: object) => void lines.push(line),
  };
  const limit = await deletionLimitAt(Date.now());
  const ending = new AbortController();
  const swept = sweepInThread(
    { path, issuer, intervalSeconds, unusedFor: 0, deletionLimitMs: () => limit },
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
