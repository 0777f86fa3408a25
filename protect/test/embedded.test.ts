import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { StorageFault } from '@grantd/core';
import {
  type AccessTokens,
  AuthorizationServerFault,
  ConfigurationError,
  EmbeddedAccessTokens,
  OAuthError,
} from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';
import { BreakableStore, FAILURES } from '../../core/test/harness/breakable_store.ts';
import { MEMORY } from '../../core/test/harness/stores.ts';
import { FUNCTION } from '../../core/test/harness/transports/function.ts';
import { ISSUER, openWorld, type WorldOptions } from '../../core/test/harness/world.ts';
import { API, apiToken } from './harness/resource_server.ts';

/** An API in the process of the authorization server. */
async function openApi(t: TestContext, options: WorldOptions = {}) {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, options, { transport: FUNCTION, store });
  return { world, store, tokens: new EmbeddedAccessTokens({ server: world.server, audience: API }) };
}

async function refusal(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_token') return error.reason;
    throw error;
  }
  return assert.fail('the token was let through');
}

for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
  test(`an API in the same process asks the authorization server directly, for any token format: ${accessTokenFormat}`, async (t) => {
    const { world, tokens } = await openApi(t, { accessTokenFormat });
    const token = await apiToken(world, 'read write');
    const { active: _, token_type: __, ...described } = JSON.parse((await world.introspect(token)).body);
    const verified = await tokens.verify(token);
    assert.deepEqual(verified, {
      sub: 'machine',
      clientId: 'machine',
      scopes: ['read', 'write'],
      expiresAt: described.exp,
      claims: described,
    });
    for (const part of [verified, verified.scopes, verified.claims]) assert.ok(Object.isFrozen(part));
    await world.revoke(token, 'machine');
    assert.equal(await refusal(tokens.verify(token)), 'revoked');
  });
}

test('an API in the same process refuses anything but an access token for it', async (t) => {
  const { world, store, tokens } = await openApi(t);
  const { access_token: accessToken, refresh_token: refreshToken } = await world.grant();
  assert.equal(await refusal(tokens.verify(accessToken)), 'audience_wrong');
  assert.equal(await refusal(tokens.verify(refreshToken)), 'wrong_type');
  store.asked.clear();
  assert.equal(await refusal(tokens.verify('a'.repeat(16 * 1024 + 1))), 'malformed');
  assert.deepEqual([...store.asked], []);
  const ofIssuer = new EmbeddedAccessTokens({ server: world.server, audience: [API, ISSUER] });
  assert.equal((await ofIssuer.verify(accessToken)).sub, 'alice');
  assert.throws(() => new EmbeddedAccessTokens({ server: world.server, audience: '' }), ConfigurationError);
});

test('unavailable storage is 503 at an API in the same process, never 401 or 500', async (t) => {
  const { world, store, tokens } = await openApi(t);
  const token = await apiToken(world);
  const own: AccessTokens = {
    verify: async () => {
      throw new StorageFault(new Error('the database is away'));
    },
  };
  const request = () => new Request(API, { headers: { authorization: `Bearer ${token}` } });
  for (const failure of FAILURES) {
    store.break('tokens.getByAccessToken', failure);
    await assert.rejects(tokens.verify(token), AuthorizationServerFault, failure);
    for (const way of [tokens, own]) {
      const told: AuthorizationServerFault[] = [];
      const rendering = protect({ tokens: way, onFault: (fault) => told.push(fault) });
      const response = await rendering(() => new Response())(request());
      assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1'], failure);
      assert.ok(told[0]?.cause instanceof StorageFault);
      const forwarding = protect({ tokens: way, errors: 'forward' })(() => new Response());
      await assert.rejects(forwarding(request()), AuthorizationServerFault);
    }
  }
  store.repair();
  assert.equal((await tokens.verify(token)).sub, 'machine');
});
