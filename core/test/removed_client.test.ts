// § refers to RFC 7592.
import assert from 'node:assert/strict';
import { ON_EVERY_HOST } from './harness/places.ts';
import {
  bearerError,
  CLIENT_REFUSED,
  errorOf,
  INACTIVE,
  OPEN_JSON_HEADERS,
  REFRESH_REFUSED,
} from './harness/responses.ts';
import { CLIENTS, secretOf, specification, type World } from './harness/world.ts';

const CODE_REFUSED = errorOf(400, 'invalid_grant', 'the authorization code is not valid', OPEN_JSON_HEADERS);

const TOKEN_REFUSED = bearerError(401, 'invalid_token', 'the access token is revoked');

/** Tokens and a code of the client `web`, in either format. */
async function inUse(world: World) {
  return { ...(await world.grant()), code: await world.code() };
}

async function addAgain({ server, storage }: World): Promise<void> {
  const secrets = [await server.operator.hashClientSecret(secretOf('web'))];
  assert.equal(await storage.clients.add({ ...CLIENTS.web, secrets }), true);
}

specification('RFC 7592, a client that was removed', ON_EVERY_HOST, (spec) => {
  for (const format of ['jwt', 'opaque'] as const) {
    const options = { accessTokenFormat: format, useOpaqueRefreshTokens: format === 'opaque' };

    spec(
      `§2.3 tokens of a removed client are dead for everybody at once (${format})`,
      async (world) => {
        const { access_token, refresh_token, code } = await inUse(world);
        assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
        assert.equal(await world.storage.clients.remove('web'), true);
        for (const token of [access_token, refresh_token])
          assert.deepEqual(await world.introspect(token), INACTIVE);
        assert.deepEqual(await world.userInfo(access_token), TOKEN_REFUSED);
        assert.deepEqual(await world.refresh(refresh_token), CLIENT_REFUSED);
        assert.deepEqual(await world.redeem(code), CLIENT_REFUSED);
        assert.deepEqual(await world.revoke(refresh_token), CLIENT_REFUSED);
      },
      options,
    );

    spec(
      `§2.3 they stay dead when another client gets its identifier (${format})`,
      async (world) => {
        const { access_token, refresh_token, code } = await inUse(world);
        await world.storage.clients.remove('web');
        await addAgain(world);
        for (const token of [access_token, refresh_token])
          assert.deepEqual(await world.introspect(token), INACTIVE);
        assert.deepEqual(await world.userInfo(access_token), TOKEN_REFUSED);
        assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
        assert.deepEqual(await world.redeem(code), CODE_REFUSED);
        const later = await world.grant();
        assert.deepEqual(await world.alive(later.access_token, later.refresh_token), [true, true]);
        assert.equal((await world.refresh(later.refresh_token)).status, 200);
      },
      options,
    );
  }

  spec('§2.3 an authorization request of a removed client leads to no code', async (world) => {
    await world.storage.clients.remove('web');
    await assert.rejects(world.code(), { name: 'OAuthError' });
  });
});
