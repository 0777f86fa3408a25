import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { diskFull } from '../../reliability/chaos/disk_full.ts';
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
