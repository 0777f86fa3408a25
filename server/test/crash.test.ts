// Begins early: servers are killed and start again. `npm run test:histories` kills them more often.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { crashes } from '../../reliability/chaos/crashes.ts';
import { deployments } from '../../reliability/deployments/deployments.ts';
import { Workbench } from './harness/program.ts';

const KILLS = process.env.TEST_EVERY_PAIR === 'yes' ? 6 : 2;
const GRACE_SECONDS = 10;
/** As long as a request takes: enough are under way at each kill, and the cores are not busy all the time. */
const REST_MS = 10;
/** The default, RS256, takes twenty times as long to sign, which these tests do not depend on. */
const QUICK_SIGNATURES = ['--access-token-algorithm', 'ES256', '--id-token-algorithm', 'ES256'];

const workbench = new Workbench();
after(() => workbench.clear());

for (const deployment of deployments(workbench)) {
  test(`after each kill -9 of a server on ${deployment.name}, all that it had acknowledged holds`, {
    timeout: KILLS * 60_000,
    skip: deployment.unavailable() ?? false,
  }, async () => {
    const flags = ['--refresh-grace', String(GRACE_SECONDS), ...QUICK_SIGNATURES];
    const cluster = await deployment.start({ processes: 2, flags });
    const report = await crashes(cluster, { kills: KILLS, graceMs: GRACE_SECONDS * 1000, restMs: REST_MS });
    assert.deepEqual(report.faults, []);
    assert.equal(report.recoveriesMs.length, KILLS);
    assert.ok(report.acknowledgedRevocations > 0 && report.acknowledgedIssues > 0 && report.refreshes > 0);
    assert.ok(report.unanswered > 0, 'a server died in the middle of something');
  });
}
