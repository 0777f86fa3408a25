// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import type { NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import { approvedCode, askForTokens, grantTo, redeemed } from './harness/granting.ts';
import { ON_EVERY_HOST } from './harness/places.ts';
import { addClient, DEAD_CODE, DEAD_REFRESH_TOKEN, issued } from './harness/token_endpoint.ts';
import { CLIENTS, specification, type World } from './harness/world.ts';

const APP: NewClient = { ...CLIENTS.web, id: 'app', scopes: ['openid', 'profile', 'read', 'offline_access'] };

const ONLINE = { request: { scope: 'openid read' } };
const OFFLINE = { request: { scope: 'openid read offline_access' } };

function endSession(world: World, id = 'session of alice') {
  return world.storage.revokeAll({ principal: 'session', id });
}

async function refreshed(world: World, refresh_token: string) {
  return askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token });
}

specification('What outlives a session (OpenID Connect Core §11)', ON_EVERY_HOST, (spec) => {
  spec('§11 a grant ends with the session, also after refreshes', async (world) => {
    await addClient(world, APP);
    const first = await grantTo(world, 'app', ONLINE);
    const second = issued(await refreshed(world, first.refresh_token));
    const tokens = [first.access_token, second.access_token, second.refresh_token];
    assert.deepEqual(await world.alive(...tokens), [true, true, true]);
    await endSession(world);
    assert.deepEqual(await world.alive(...tokens), [false, false, false]);
    assert.equal(world.lastReason, 'session_revoked');
    assert.equal((await world.userInfo(second.access_token)).status, 401);
    assert.deepEqual(await refreshed(world, second.refresh_token), DEAD_REFRESH_TOKEN);
  });

  spec('§11 with offline_access it outlives the session, and is refreshed afterwards', async (world) => {
    await addClient(world, APP);
    const first = await grantTo(world, 'app', OFFLINE);
    await endSession(world);
    const second = issued(await refreshed(world, first.refresh_token));
    assert.deepEqual(await world.alive(first.access_token, second.access_token, second.refresh_token), [
      true,
      true,
      true,
    ]);
    assert.equal((await world.userInfo(second.access_token)).status, 200);
  });

  spec('§11 the approved scope counts, not the requested one', async (world) => {
    await addClient(world, APP);
    const approval = { scopes: ['openid', 'read'] };
    const { access_token, refresh_token } = await grantTo(world, 'app', { ...OFFLINE, approval });
    await endSession(world);
    assert.deepEqual(await world.alive(access_token, refresh_token), [false, false]);
  });

  spec('§11 a scope that is narrowed at refresh ties no token to the session', async (world) => {
    await addClient(world, APP);
    const { refresh_token } = await grantTo(world, 'app', OFFLINE);
    const fields = { grant_type: 'refresh_token', refresh_token, scope: 'read' };
    const narrowed = issued(await askForTokens(world, 'app', fields));
    await endSession(world);
    assert.deepEqual(await world.alive(narrowed.access_token, narrowed.refresh_token), [true, true]);
  });

  spec('§11 a code that waits dies with the session, one for offline_access does not', async (world) => {
    await addClient(world, APP);
    const [online, offline] = [
      await approvedCode(world, 'app', ONLINE),
      await approvedCode(world, 'app', OFFLINE),
    ];
    await endSession(world);
    assert.deepEqual(await redeemed(world, 'app', { redemption: { code: online } }), DEAD_CODE);
    assert.equal((await redeemed(world, 'app', { redemption: { code: offline } })).status, 200);
  });

  spec('§11 a session that ends takes nothing of another one along', async (world) => {
    await addClient(world, APP);
    const approval = { sessionId: 'another session of alice' };
    const { access_token, refresh_token } = await grantTo(world, 'app', { ...ONLINE, approval });
    await endSession(world);
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    await endSession(world, approval.sessionId);
    assert.deepEqual(await world.alive(access_token, refresh_token), [false, false]);
  });

  spec(
    '§2 sid names the session in every ID token, offline or not, and in no access token',
    async (world) => {
      await addClient(world, APP);
      for (const granting of [ONLINE, OFFLINE]) {
        const first = await grantTo(world, 'app', granting);
        const second = issued(await refreshed(world, first.refresh_token));
        const sids = [first.id_token, second.id_token, first.access_token, second.access_token].map(
          (token) => decodeJwt(token).sid,
        );
        assert.deepEqual(sids, ['session of alice', 'session of alice', undefined, undefined]);
      }
    },
  );
});
