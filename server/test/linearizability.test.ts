// Begins early: it runs hundreds of histories on several servers. `npm run test:histories` runs thousands.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deployments } from '../../reliability/deployments/deployments.ts';
import { runHistories } from '../../reliability/histories/run_histories.ts';
import { SCENARIOS } from '../../reliability/histories/scenarios/scenarios.ts';
import { Workbench } from './harness/program.ts';

/** The first ones run each scenario once. More of them find rarer orders of the same requests. */
const HISTORIES = process.env.TEST_EVERY_PAIR === 'yes' ? 2500 : 300;
/** Signatures with ES256 cost a twentieth of those with RS256, and the histories do not depend on them. */
const FLAGS = [
  ['--refresh-grace', '600'],
  ['--access-token-algorithm', 'ES256'],
  ['--id-token-algorithm', 'ES256'],
].flat();

const workbench = new Workbench();
after(() => workbench.clear());

for (const deployment of deployments(workbench)) {
  test(`RFC 7009 §2 on ${deployment.name}, no process shows a token alive once its revocation was acknowledged`, {
    timeout: HISTORIES * 400,
    skip: deployment.unavailable() ?? false,
  }, async () => {
    const cluster = await deployment.start({ processes: 3, flags: FLAGS });
    const tally = await runHistories(cluster, { histories: HISTORIES, threads: 1, eachScenario: true });
    const { histories, conclusive, violations, examples, byScenario, unknown } = tally;
    assert.deepEqual({ violations, examples }, { violations: 0, examples: [] });
    assert.equal(Object.keys(byScenario).length, SCENARIOS.length);
    assert.ok(histories >= HISTORIES, `${histories} histories`);
    // Healthy servers never respond with 503, so every history has reads on both sides of its revocation.
    assert.deepEqual({ conclusive, unknown }, { conclusive: histories, unknown: 0 });
  });
}
