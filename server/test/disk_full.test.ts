import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { diskFull, postgresDiskFull } from '../../reliability/chaos/disk_full.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('RFC 7009 §2.2.1 on a full disk writes and /health are answered by 503, and served again once there is room', {
  timeout: 60_000,
}, async (t) => {
  const report = await diskFull(workbench);
  if (typeof report === 'string') {
    t.skip(report);
    return;
  }
  assert.deepEqual(report.faults, []);
  assert.ok(report.refusedWhileFull > 0 && report.looks > 0);
  assert.equal(report.looksUnanswered, 0, 'looking at tokens needs no room');
  assert.ok(report.slowestMs < 5000, `${report.slowestMs} ms`);
});

test('on PostgreSQL with a full disk, /health is 503 once a write has failed, until there is room', {
  timeout: 90_000,
  skip: POSTGRES_ABSENCE,
}, async (t) => {
  const report = await postgresDiskFull(workbench);
  if (typeof report === 'string') {
    t.skip(report);
    return;
  }
  const { message, ...others } = report;
  assert.match(String(message), /No space left on device/);
  const trouble = 'storage_full';
  assert.deepEqual(others, { health: [200, 503, 200], trouble, isRead: true, issued: 200 });
});
