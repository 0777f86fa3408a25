// Begins early: it runs hundreds of histories on several servers. `npm run test:following` runs more, and kills servers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AccessTokenVerifier } from '@grantd/protect';
import { deploymentNamed } from '../../reliability/deployments/deployments.ts';
import { type FollowingOrder, runFollowing } from '../../reliability/following/run_following.ts';
import { API } from '../../reliability/following/ways.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SHORT = { seconds: 1, followers: 3, lanes: 4, disturbances: [], maxSilence: 2 };

for (const [name, absence] of [
  ['sqlite', false],
  ['postgres', POSTGRESQL.absence],
] as const)
  test(`on ${name}, no follower accepts a token later than the bound after its end, whatever fails on the way`, {
    timeout: 120_000,
    skip: absence,
  }, async () => {
    const cluster = await deploymentNamed(workbench, name).start({ processes: 2 });
    const { late, histories, failures } = await runFollowing(cluster, SHORT);
    assert.deepEqual({ late, failures }, { late: [], failures: [] });
    assert.ok(histories > 0);
    if (name !== 'sqlite') return;
    const instead: NonNullable<FollowingOrder['instead']> = ({ fetch }) =>
      new AccessTokenVerifier({ issuer: cluster.issuer, audience: API.resource, fetch });
    // On a busy machine, one second may be too short for a history that ends.
    let blind = 0;
    for (let tries = 0; blind === 0 && tries < 10; tries++)
      blind = (await runFollowing(cluster, { ...SHORT, followers: 1, lanes: 1, instead })).late.length;
    assert.ok(blind > 0, 'the check notices APIs that follow nothing');
  });
