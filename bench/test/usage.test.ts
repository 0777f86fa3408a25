import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { countCommits } from '../processes/commits.ts';
import { machineSeconds, watch } from '../processes/cpu_watch.ts';

test('commits to a database are counted from outside, also across checkpoints', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'some.db');
  assert.equal(countCommits(path)(), undefined);

  const database = new DatabaseSync(path);
  t.after(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE counted (n INTEGER)');
  const commits = countCommits(path);
  for (let n = 0; n < 5; n++) database.exec(`INSERT INTO counted VALUES (${n})`);
  database.exec(
    'PRAGMA wal_checkpoint(TRUNCATE); BEGIN; DELETE FROM counted; INSERT INTO counted VALUES (9); COMMIT',
  );
  assert.equal(commits(), 6);
});

test('what keeps a machine busy are programs, its system, interrupts and those that it is shared with', () => {
  const stat = 'cpu  100 20 30 4000 500 60 70 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n';
  assert.equal(machineSeconds(stat), 2.88);
  assert.equal(machineSeconds(''), undefined);
});

test('the time of child processes that have ended counts as this process’s own', {
  skip: process.platform !== 'linux',
}, () => {
  const begunAtMs = performance.now();
  const allBefore = machineSeconds() ?? 0;
  const watched = watch();
  spawnSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 500_000);']);
  const { serverSeconds, othersCpu = Number.NaN } = watched();
  const all = (machineSeconds() ?? 0) - allBefore;
  const others = (othersCpu * (performance.now() - begunAtMs)) / 1000;
  assert.equal(serverSeconds, undefined);
  assert.ok(all - others > 0.2, `${all} s, of which ${others} s of others`);
});
