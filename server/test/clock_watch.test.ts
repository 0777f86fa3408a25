// What a process does whose clock is wrong.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { newClient, newCode, newToken } from '../../core/test/storage/samples.ts';
import { ClockWatch } from '../src/data/clock_watch.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import type { DeletionLimitMs } from '../src/data/deletion_limit.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { sealPeriodically } from '../src/serve/sealer.ts';
import { DATABASES, SQLITE } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';
import { addPerson, deletionLimitAt, ISSUER, newPlace } from './harness/program_data.ts';
import { scrape } from './harness/scrape.ts';

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
  assert.equal(watch.deletionLimitMs(), START_MS - 40 * DAY_MS + 30_000);
  reference.atMs = time.nowMs + 60_000;
  await pass(60_000);
  assert.equal(watch.skewSeconds, 0);
  assert.equal(watch.deletionLimitMs(), time.nowMs, 'never beyond its own clock');
  assert.deepEqual(lines, [
    { event: 'clock_skew', seconds: 40 * 24 * 60 * 60 },
    { event: 'clock_skew_ended' },
  ]);
});

test('on a file, a sweep goes no further than the newest event, and the time since the start', async () => {
  const { watch, time, reference, pass } = watched({ atMs: START_MS - 40 * DAY_MS, isNow: false });
  await watch.look();
  assert.equal(watch.deletionLimitMs(), START_MS - 40 * DAY_MS + 30_000);
  assert.equal(watch.skewSeconds, 0, 'nothing may have happened for 40 days');
  await pass(60_000);
  assert.equal(watch.deletionLimitMs(), START_MS - 40 * DAY_MS + 90_000);
  // What this process records may have a wrong time, so it counts only after the next look.
  reference.atMs = time.nowMs + 60_000;
  await pass(60_000);
  assert.equal(watch.deletionLimitMs(), START_MS - 40 * DAY_MS + 150_000);
  await pass(60_000);
  assert.equal(watch.deletionLimitMs(), time.nowMs);
});

test('a clock that jumps while the process runs moves no sweep, and is reported', async () => {
  const { watch, time, lines, reference, pass } = watched({ atMs: START_MS, isNow: false });
  await watch.look();
  time.nowMs += 40 * DAY_MS;
  assert.equal(watch.deletionLimitMs(), START_MS + 30_000);
  await pass(60_000);
  assert.equal(watch.skewSeconds, 40 * 24 * 60 * 60);
  assert.equal(watch.deletionLimitMs(), START_MS + 90_000);
  time.nowMs -= 40 * DAY_MS;
  reference.atMs = time.nowMs;
  await pass(60_000);
  await pass(60_000);
  assert.equal(watch.skewSeconds, 0);
  assert.equal(watch.deletionLimitMs(), time.nowMs);
  assert.equal(lines.length, 2);
});

test('a clock that is behind the newest event is reported', async () => {
  const { watch } = watched({ atMs: START_MS + 60_000, isNow: false });
  await watch.look();
  assert.equal(watch.skewSeconds, -60);
});

test('a server says by how much its clock is wrong, in its health and in its metrics', async () => {
  const folder = workbench.folder();
  const first = await workbench.start(folder);
  await first.stop();
  await SQLITE.run(folder, `UPDATE events SET at_ms = at_ms + ${DAY_MS}`);
  const server = await workbench.start(folder, ['--port', String(first.port), '--metrics-port', '0']);
  const response = await fetch(`${server.url}/health/ready`);
  const { status, clock_skew_seconds: skew } = (await response.json()) as Record<string, unknown>;
  assert.deepEqual([response.status, status], [200, 'ok']);
  const isADay = (seconds: unknown) => Math.abs(Number(seconds) + DAY_MS / 1000) < 120;
  assert.ok(isADay(skew), String(skew));
  const { sum } = await scrape(server);
  // Without its direction, for alerts.
  assert.ok(isADay(-sum('grantd_clock_skew_seconds')), String(sum('grantd_clock_skew_seconds')));
});

/** Adds a row of each kind that ends by itself. All end within 31 days, and none within an hour. */
async function addLive(opened: OpenDatabase): Promise<void> {
  const { storage, sessions, attempts, mails, mailedLinks, apiRequests, groups } = opened;
  const nowMs = Date.now();
  const [now, endMs] = [Math.floor(nowMs / 1000), nowMs + 2 * 60 * 60 * 1000];
  const alice = await addPerson(opened, 'alice');
  const { subject } = alice;
  const times = { signedInAtMs: nowMs, lastSeenAtMs: nowMs };
  await sessions.add({ id: 'sid', subject, userAgent: '', amr: ['pwd'], ...times }, 'digest', endMs, alice);
  await attempts.count([{ keyDigest: 'key', attempts: 5, windowMs: endMs - nowMs }], nowMs);
  await mails.add({ recipient: 'a@b.example', template: 'x', language: 'en', sealed: '', subject }, nowMs);
  await mailedLinks.add('token', { purpose: 'verify', address: 'a@b.example', expiresAtMs: endMs });
  await apiRequests.begin('key', 'request', nowMs, endMs);
  await storage.clients.add({
    ...newClient('registered'),
    registeredAt: now,
    registrationTokenDigest: 'digest',
  });
  await storage.oneTimeIdentifiers.take('identifier', now + 7200);
  const { generation: clientGeneration = 0 } = (await storage.clients.get('registered')) ?? {};
  const far = { expiresAt: now + 7200, keepUntil: now + 7200 };
  const token = newToken('registered', far);
  assert.equal(await storage.tokens.issue([token], { clientGeneration }), 'issued');
  const code = { ...newCode('registered', 'code'), expiresAt: now + 7200 };
  assert.equal(await storage.authorizationCodes.issue(code, { clientGeneration }), 'issued');
  const pending = { kind: 'pushed_request', id: 'pushed', clientId: 'registered', data: {} } as const;
  await storage.pending.add({ ...pending, expiresAt: now + 7200 });
  await groups.add({ name: 'staff', description: '' }, nowMs);
}

const PROGRAM_ROWS = 7;
const STORE_ROWS = 4;

for (const database of DATABASES) {
  test(`${database.name}: a process whose clock is 40 days ahead deletes nothing that others need`, {
    skip: database.absence,
  }, async (t) => {
    const connect = await newPlace(t, database);
    const programs = [connect(), connect()] as const;
    t.after(() => Promise.all(programs.map((program) => program.close())));
    const right = await programs[0].open(ISSUER);
    const secret = new ServerSecret<ProgramSecretUse>('a secret of this test that is long enough');
    await addLive(right);
    await right.auditTrail.seal(secret);
    const rightMs = Date.now();
    t.mock.timers.enable({ apis: ['Date'], now: rightMs + 40 * DAY_MS });
    const ahead = await programs[1].open(ISSUER);
    const watch = new ClockWatch(ahead);
    await watch.look();
    const sweep = async (untilMs: DeletionLimitMs) => [
      await ahead.storage.sweep(100, untilMs),
      await ahead.sweepProgram(100, { unusedFor: 1, untilMs }),
    ];
    assert.deepEqual(await sweep(watch.deletionLimitMs()), [0, 0]);
    const lines: object[] = [];
    const write = (line: object) => void lines.push(line);
    const log = { info: write, warn: write, error: write };
    const trail = { auditTrail: ahead.auditTrail, secret: () => secret };
    /** Seals and removes once, as a server. */
    const removeOld = async (deletionLimitMs: () => DeletionLimitMs) => {
      const ending = new AbortController();
      const asked = () => {
        ending.abort();
        return deletionLimitMs();
      };
      await sealPeriodically(trail, 7 * 24 * 60 * 60, { deletionLimitMs: asked }, log, ending.signal);
    };
    await removeOld(() => watch.deletionLimitMs());
    assert.deepEqual(lines, []);
    const { events, problems } = await right.auditTrail.verify(secret);
    assert.deepEqual(problems, []);
    // All of it would go by that clock.
    const later = await deletionLimitAt(Date.now());
    const [store = 0, program] = await sweep(later);
    assert.ok(store >= STORE_ROWS, String(store));
    assert.equal(program, PROGRAM_ROWS);
    await removeOld(() => later);
    assert.deepEqual(lines, [{ event: 'audit_events_removed', rows: events }]);
  });
}

test('a failure that lasts has one line a minute for each kind of work on the audit trail', async (t) => {
  const program = sqliteDatabase(join(workbench.folder(), 'grantd.db'));
  const { auditTrail } = await program.open(ISSUER);
  await program.close();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const key = new ServerSecret<ProgramSecretUse>('a secret of this test that is long enough');
  const ending = new AbortController();
  const lines: unknown[] = [];
  const write = (line: { readonly event?: unknown }) => void lines.push(line.event);
  let passes = 0;
  const clock = {
    deletionLimitMs: () => {
      passes += 1;
      if (passes === 3) ending.abort();
      setImmediate(() => t.mock.timers.tick(2_000));
      return undefined as unknown as DeletionLimitMs;
    },
  };
  const log = { info: write, warn: write, error: write };
  await sealPeriodically({ auditTrail, secret: () => key }, 1, clock, log, ending.signal);
  assert.deepEqual([passes, lines], [3, ['audit_seal_failed', 'audit_removal_failed']]);
});

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
    return watch.deletionLimitMs();
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
