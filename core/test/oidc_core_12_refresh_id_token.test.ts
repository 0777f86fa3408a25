// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { SigningAlgorithm } from '@grantd/core';
import { decodeJwt } from 'jose';
import { askForTokens, grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient, currentKeyId, HEADERS, issued, verified } from './harness/token_endpoint.ts';
import { CLIENTS, ISSUER, openWorld, specification } from './harness/world.ts';

function leftHalfOf(token: string): string {
  return createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');
}

specification('ID tokens at refresh (OpenID Connect Core §12)', ON_EVERY_STORE, (spec) => {
  spec(
    '§12.2 a refresh returns an ID token about the same user and sign-in, with new times, without nonce',
    async (world) => {
      const first = await world.grant();
      const signedInAt = world.clock.seconds;
      assert.equal(decodeJwt(first.id_token).nonce, 'n-0S6_WzA2Mj');
      world.clock.advance(1000);
      const { access_token, id_token } = await world.rotated(first.refresh_token);
      const iat = world.clock.seconds;
      const { header, payload } = await verified(world, id_token);
      assert.deepEqual(header, { alg: 'RS256', typ: 'JWT', kid: await currentKeyId(world, 'RS256') });
      assert.deepEqual(payload, {
        iss: ISSUER,
        sub: 'alice',
        aud: 'web',
        iat,
        exp: iat + 3600,
        at_hash: leftHalfOf(access_token),
        auth_time: signedInAt,
        sid: 'session of alice',
      });
    },
  );

  spec('§12.2 it still says so after many refreshes, acr and amr included', async (world) => {
    const id = 'app';
    await addClient(world, { ...CLIENTS.web, id });
    const approval = { acr: 'urn:mace:incommon:iap:silver', amr: ['pwd', 'otp'], authTime: 1_700_000_000 };
    let { refresh_token, id_token } = await grantTo(world, id, { approval });
    const { iat: _, exp: __, at_hash: ___, ...about } = decodeJwt(id_token);
    for (let i = 0; i < 3; i++) {
      world.clock.advance(60);
      ({ refresh_token, id_token } = issued(
        await askForTokens(world, id, { grant_type: 'refresh_token', refresh_token }),
      ));
      const { iat, exp, at_hash, ...now } = decodeJwt(id_token);
      assert.deepEqual(now, about);
      assert.deepEqual(about.acr, approval.acr);
    }
  });

  spec('§12.2 a scope without openid gets none, and a later one with it does', async (world) => {
    const { refresh_token } = await world.grant();
    const narrowed = await world.rotated(refresh_token, { scope: 'profile read' });
    assert.equal('id_token' in narrowed, false);
    assert.equal('id_token' in (await world.rotated(narrowed.refresh_token)), true);
  });

  spec('§12.2 a grant without openid gets none', async (world) => {
    const { refresh_token } = await world.grant('alice', 'web', 'read profile');
    assert.equal('id_token' in (await world.rotated(refresh_token)), false);
  });

  spec('§12.2 a retry within the grace gets one for its own access token', async (world) => {
    const { refresh_token } = await world.grant();
    const first = await world.rotated(refresh_token);
    const retried = await world.rotated(refresh_token);
    assert.equal(retried.refresh_token, first.refresh_token);
    assert.equal(decodeJwt(retried.id_token).at_hash, leftHalfOf(retried.access_token));
  });

  spec(
    '§12.2 refresh tokens that do not rotate, and opaque ones, get one too',
    async (world) => {
      const id = 'steady';
      await addClient(world, { ...CLIENTS.web, id, rotateRefreshTokens: false });
      const { refresh_token, id_token } = await grantTo(world, id);
      const refreshed = issued(await askForTokens(world, id, { grant_type: 'refresh_token', refresh_token }));
      assert.equal(refreshed.refresh_token, refresh_token);
      const { iat, exp, at_hash, ...about } = decodeJwt(refreshed.id_token);
      const { iat: _, exp: __, at_hash: ___, ...before } = decodeJwt(id_token);
      assert.deepEqual(about, before);
    },
    { useOpaqueRefreshTokens: true },
  );
});

test('§12.2 a refresh whose ID token cannot be signed spends nothing', async (t) => {
  const world = await openWorld(t);
  await addClient(world, { ...CLIENTS.web, id: 'app', idTokenAlgorithm: 'ES256' });
  const { refresh_token } = await grantTo(world, 'app');
  const { currentKeyId: currentOf } = world.storage.keys;
  const withoutKeys = {
    ...world.storage,
    keys: {
      ...world.storage.keys,
      currentKeyId(algorithm: SigningAlgorithm) {
        if (algorithm === 'ES256') throw new Error('the keys are away');
        return currentOf(algorithm);
      },
    },
  };
  const broken = await secondServer(world, { oidc: { getUserClaims: () => undefined } }, withoutKeys);
  const request = { grant_type: 'refresh_token', refresh_token };
  assert.equal((await askForTokens(broken, 'app', request)).status, 503);
  assert.equal('id_token' in issued(await askForTokens(world, 'app', request)), true);
});

test('§12 a refresh returns none once OpenID Connect is off', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const off = await secondServer(world);
  const response = await off.refresh(refresh_token);
  assert.deepEqual([response.status, response.headers], [200, HEADERS]);
  assert.equal('id_token' in JSON.parse(response.body), false);
});
