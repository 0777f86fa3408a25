// What the overview of the console calls wrong.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Facts, newestBackup, troublesIn } from '../src/console/troubles.ts';
import type { Sample } from '../src/monitoring/history.ts';

const NOW_MS = Date.UTC(2026, 2, 12, 3, 0);
const DAY_MS = 24 * 60 * 60 * 1000;
const FINE: Facts = { nowMs: NOW_MS, isReady: true, skewSeconds: 0 };

/** An hour of samples, the last ones with other values. @param recent in each of the last 30, which are five minutes */
function samples(usual: Partial<Sample>, recent: Partial<Sample>): readonly Sample[] {
  return Array.from({ length: 360 }, (_, at) => ({
    ...{
      atMs: NOW_MS - (359 - at) * 10_000,
      seconds: 10,
      requests: {},
      refusals: {},
      latencies: [],
      storage: [],
    },
    ...{ storageFaults: 0, issued: 0, revocations: 0, sweptRows: 0, failedSignIns: 0 },
    ...(at >= 330 ? recent : usual),
  }));
}

const codes = (facts: Partial<Facts>) =>
  troublesIn({ ...FINE, ...facts }).troubles.map(({ code, count }) => `${code} ${count}`);

test('nothing is wrong with a server that answers, and the page says what was looked at', () => {
  assert.deepEqual(troublesIn(FINE), { troubles: [], topics: ['database', 'clock'] });
  const known = {
    samples: samples(
      { failedSignIns: 2, refusals: { client_unknown: 3 } },
      { failedSignIns: 2, refusals: { client_unknown: 3 } },
    ),
    ...{ failedMails: 0, registrations: { count: 8, limit: 10 }, certificateEndsAtMs: NOW_MS + 90 * DAY_MS },
    backups: { newestAtMs: NOW_MS - DAY_MS, intervalSeconds: DAY_MS / 1000 },
  };
  assert.deepEqual(codes(known), []);
  assert.deepEqual(troublesIn({ ...FINE, ...known }).topics.slice(2), [
    ...['requests', 'mails', 'registrations', 'certificate', 'backups'],
  ]);
});

test('what is wrong is said with its number', () => {
  assert.deepEqual(codes({ isReady: false }), ['not_ready 1']);
  assert.deepEqual(codes({ skewSeconds: -312 }), ['clock_wrong 312']);
  assert.deepEqual(codes({ failedMails: 3 }), ['mails 3']);
  assert.deepEqual(codes({ registrations: { count: 9, limit: 10 } }), ['registrations 9']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS - 1 }), ['certificate_ended 1']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS + 1 }), ['certificate 0']);
  assert.deepEqual(codes({ certificateEndsAtMs: NOW_MS + 13.5 * DAY_MS }), ['certificate 13']);
  const daily = { intervalSeconds: DAY_MS / 1000 };
  assert.deepEqual(codes({ backups: { ...daily, newestAtMs: undefined } }), ['no_backup 1']);
  assert.deepEqual(codes({ backups: { ...daily, newestAtMs: NOW_MS - 3.5 * DAY_MS } }), ['backup 3']);
});

test('faults count at once, refusals and failed sign-ins only if there are more than usual', () => {
  assert.deepEqual(codes({ samples: samples({ storageFaults: 9, refusals: { fault: 9 } }, {}) }), []);
  const faults = samples({}, { storageFaults: 1, refusals: { fault: 2 } });
  assert.deepEqual(codes({ samples: faults }), ['storage_faults 30', 'faults 60']);
  const risen = samples(
    { failedSignIns: 1, refusals: { client_unknown: 1 } },
    { failedSignIns: 4, refusals: { client_unknown: 4 } },
  );
  assert.deepEqual(codes({ samples: risen }), ['refusals 120', 'sign_ins 120']);
  // Without earlier minutes, nothing is usual.
  assert.deepEqual(codes({ samples: risen.slice(-60) }), []);
  assert.deepEqual(codes({ samples: samples({}, { refusals: { too_many_requests: 1 } }) }), [
    'refusals 30',
    'limits 30',
  ]);
});

test('the newest backup is that of the newest file, and a folder without files has none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-backups-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(await newestBackup(folder, {}), undefined);
  assert.equal(await newestBackup(join(folder, 'absent'), {}), undefined);
  for (const [name, seconds] of [
    ['a', 1000],
    ['b', 3000],
    ['c', 2000],
  ] as const) {
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), seconds, seconds);
  }
  assert.equal(await newestBackup(folder, {}), 3_000_000);
});
