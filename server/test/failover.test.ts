// Begins early: it waits for a database to be replaced.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { type Fate, failover } from '../../reliability/chaos/failover.ts';
import { Workbench } from './harness/program.ts';

/** Enough requests are under way when the primary is replaced, and the cores are not busy all the time. */
const REST_MS = 20;

const workbench = new Workbench();
after(() => workbench.clear());

const SENTENCES: Readonly<Record<Fate, string>> = {
  killed: 'a standby that takes over from a primary that was killed has everything that was acknowledged',
  deposed: 'a deposed primary that still answers is not trusted by the server that reaches no other',
};

describe('a failover under load', { skip: POSTGRES_ABSENCE, timeout: 120_000 }, () => {
  for (const fate of ['killed', 'deposed'] as const) {
    test(SENTENCES[fate], async () => {
      const report = await failover(workbench, { fate, processes: 2, restMs: REST_MS });
      assert.deepEqual(report.faults, []);
      assert.ok(report.unavailable > 0 && report.acknowledgedRevocations > 0 && report.refreshes > 0);
    });
  }
});
