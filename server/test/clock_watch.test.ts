// What a process does whose clock is wrong.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { ClockWatch } from '../src/data/clock_watch.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { DATABASES } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';
import { ISSUER, openDatabase } from './harness/program_data.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const START_MS = 1_900_000_000_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A watch whose clocks and reference the test sets. */
function watched(reference: { atMs: number | undefined; isNow: boolean }) {
  const time = { nowMs: START_MS, monotonicMs: 5 };
  const lines: object[] = [];
  const write = (line: object) => void lines.push(line);
  const watch = new ClockWatch(
    { referenceTime: async () => reference },
    { log: { info: write, warn: write }, clock: () => time.nowMs, monotonic: () => time.monotonicMs },
  );
  const pass = async (ms: number) => {
    time.nowMs += ms;
    time.monotonicMs += ms;
    await watch.look();
  };
  return { watch, time, lines, reference, pass };
}

test('a sweep goes by the clock of the database server, if that of the process is ahead', async () => {
  const { watch, time, lines, reference, pass } = watched({ atMs: START_MS - 40 * DAY_MS, isNow: true });
  await watch.look();
  assert.equal(watch.skewSeconds, 40 * 24 * 60 * 60);
  assert.equal(watch.sweepUntilMs(), START_MS - 40 * DAY_MS + 30_000);
  reference.atMs = time.nowMs + 60_000;
  await pass(60_000);
  assert.equal(watch.skewSeconds, 0);
  assert.equal(watch.sweepUntilMs(), time.nowMs, 'never beyond its own clock');
  assert.deepEqual(lines, [
    { event: 'clock_skew', seconds: 40 * 24 * 60 * 60 },
    { event: 'clock_skew_ended' },
  ]);
});

test('on a file, a sweep goes no further than the newest event, and the time since the start', async () => {
  const { watch, time, reference, pass } = watched({ atMs: START_MS - 40 * DAY_MS, isNow: false });
  await watch.look();
  assert.equal(watch.sweepUntilMs(), START_MS - 40 * DAY_MS + 30_000);
  assert.equal(watch.skewSeconds, 0, 'nothing may have happened for 40 days');
  await pass(60_000);
  assert.equal(watch.sweepUntilMs(), START_MS - 40 * DAY_MS + 90_000);
  // What this process records may have a wrong time, so it counts only after the next look.
  reference.atMs = time.nowMs + 60_000;
  await pass(60_000);
  assert.equal(watch.sweepUntilMs(), START_MS - 40 * DAY_MS + 150_000);
  await pass(60_000);
  assert.equal(watch.sweepUntilMs(), time.nowMs);
});

test('a clock that jumps while the process runs moves no sweep, and is reported', async () => {
  const { watch, time, lines, reference, pass } = watched({ atMs: START_MS, isNow: false });
  await watch.look();
  time.nowMs += 40 * DAY_MS;
  assert.equal(watch.sweepUntilMs(), START_MS + 30_000);
  await pass(60_000);
  assert.equal(watch.skewSeconds, 40 * 24 * 60 * 60);
  assert.equal(watch.sweepUntilMs(), START_MS + 90_000);
  time.nowMs -= 40 * DAY_MS;
  reference.atMs = time.nowMs;
  await pass(60_000);
  await pass(60_000);
  assert.equal(watch.skewSeconds, 0);
  assert.equal(watch.sweepUntilMs(), time.nowMs);
  assert.equal(lines.length, 2);
});

test('a clock that is behind the newest event is reported', async () => {
  const { watch } = watched({ atMs: START_MS + 60_000, isNow: false });
  await watch.look();
  assert.equal(watch.skewSeconds, -60);
});

for (const database of DATABASES) {
  test(`${database.name}: a process whose clock is 40 days ahead deletes nothing that others need`, {
    skip: database.absence,
  }, async (t) => {
    const opened = await openDatabase(t, database);
    const now = Math.floor(Date.now() / 1000);
    await opened.storage.recordAct({ type: 'configuration_loaded', target: 'x', actor: 'server' });
    await opened.storage.oneTimeIdentifiers.take('expired', now - 60);
    await opened.storage.oneTimeIdentifiers.take('live', now + 60);
    const watch = new ClockWatch(opened, { clock: () => Date.now() + 40 * DAY_MS });
    await watch.look();
    const untilMs = watch.sweepUntilMs();
    assert.ok(Math.abs(untilMs - Date.now()) < 45_000);
    assert.equal(await opened.storage.sweep(100, untilMs), 1);
    // Below the store's own clock, as in a process that is ahead.
    const earlierMs = watch.sweepUntilMs() - 60_000;
    assert.equal(await opened.storage.sweep(100, earlierMs), 0);
    await opened.sweepProgram(100, { unusedFor: 1, untilMs: earlierMs });
    assert.equal(await opened.storage.oneTimeIdentifiers.take('live', now + 120), false);
  });
}

test('SQLite: what processes with a wrong clock recorded before they soon ended counts for no later one', async (t) => {
  const path = join(workbench.folder(), 'grantd.db');
  const program = sqliteDatabase(path);
  const opened = await program.open(ISSUER);
  const database = new DatabaseSync(path);
  t.after(() => Promise.all([database.close(), program.close()]));
  const record = database.prepare(
    "INSERT INTO events (issuer_id, sequence, at_ms, type, target) SELECT 1, coalesce(max(sequence), 0) + 1, ?, 'x', 'x' FROM events",
  );
  const limitAt = async (nowMs: number) => {
    const watch = new ClockWatch(opened, { clock: () => nowMs, monotonic: () => 5 });
    await watch.look();
    return watch.sweepUntilMs();
  };
  for (const ms of [0, 1000, 70_000]) record.run(START_MS + ms);
  assert.equal(await limitAt(START_MS + 40 * DAY_MS), START_MS + 100_000);
  for (const ms of [0, 5000, 100_000]) record.run(START_MS + 40 * DAY_MS + ms);
  assert.equal(await limitAt(START_MS + 40 * DAY_MS + 110_000), START_MS + 100_000);
  record.run(START_MS + 40 * DAY_MS + 130_000);
  assert.equal(
    await limitAt(START_MS + 40 * DAY_MS + 200_000),
    START_MS + 40 * DAY_MS + 160_000,
    'after two minutes, nothing can tell',
  );
});
