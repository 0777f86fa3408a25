// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdministrableStorage } from '@grantd/core';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { ON_EVERY_HOST } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import {
  addClient,
  asClient,
  codeFor,
  DEAD_REFRESH_TOKEN,
  GRACE_MS,
  issued,
  NEW_SECRET,
  PKCE,
  SCOPE_MALFORMED,
  SCOPE_NOT_ALLOWED,
} from './harness/token_endpoint.ts';
import { basic, CLIENTS, ISSUER, openWorld, SECRET, specification, VERIFIER } from './harness/world.ts';

specification('Refresh (RFC 6749 §6)', ON_EVERY_HOST, (spec) => {
  spec('§6 a refresh token is exchanged for a new pair, and is spent', async (world) => {
    const first = await world.grant();
    world.clock.advance(60);
    const second = issued(await world.refresh(first.refresh_token));
    assert.deepEqual(second, {
      access_token: second.access_token,
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: second.refresh_token,
      scope: 'openid profile email read write',
      id_token: second.id_token,
    });
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.notEqual(second.access_token, first.access_token);
    assert.deepEqual(
      await world.alive(first.access_token, first.refresh_token, second.access_token, second.refresh_token),
      [true, false, true, true],
    );
  });

  spec(
    '§6 the new tokens are about the same user and sign-in, and live for their full time',
    async (world) => {
      const first = await world.grant();
      const signedInAt = world.clock.seconds;
      world.clock.advance(1000);
      const second = await world.rotated(first.refresh_token);
      const iat = world.clock.seconds;
      const { jti: _, ...claims } = decodeJwt(second.access_token);
      assert.deepEqual(claims, {
        iss: ISSUER,
        sub: 'alice',
        aud: ISSUER,
        client_id: 'web',
        scope: 'openid profile email read write',
        username: 'alice',
        auth_time: signedInAt,
        iat,
        exp: iat + 3600,
      });
      const { exp } = JSON.parse((await world.introspect(second.refresh_token)).body);
      assert.equal(exp, iat + 14 * 24 * 60 * 60);
      assert.equal((await world.userInfo(second.access_token)).status, 200);
    },
  );

  spec('§6 a public client refreshes by naming itself', async (world) => {
    const { refresh_token } = await world.grant('alice', 'spa');
    const form = { grant_type: 'refresh_token', refresh_token, client_id: 'spa' };
    const second = issued(await world.post('/token', form));
    assert.deepEqual(await world.alive(refresh_token, second.refresh_token), [false, true]);
  });

  spec(
    'RFC 9700 §4.14.2 a retry within the grace gets the same successor and a fresh access token',
    async (world) => {
      const { refresh_token } = await world.grant();
      const rotatedAtMs = world.clock.nowMs;
      const first = issued(await world.refresh(refresh_token));
      const accessTokens = [first.access_token];
      for (const afterMs of [0, 5_000, GRACE_MS - 1]) {
        world.clock.nowMs = rotatedAtMs + afterMs;
        const again = issued(await world.refresh(refresh_token));
        assert.equal(again.refresh_token, first.refresh_token);
        assert.equal(again.scope, first.scope);
        accessTokens.push(again.access_token);
      }
      assert.equal(new Set(accessTokens).size, 4);
      assert.deepEqual(await world.alive(...accessTokens, first.refresh_token), [
        true,
        true,
        true,
        true,
        true,
      ]);
      await world.revoke(first.refresh_token);
      assert.deepEqual(await world.alive(...accessTokens), [false, false, false, false]);
    },
  );

  spec('RFC 9700 §4.14.2 what a retry got dies with the successor’s pair', async (world) => {
    const { refresh_token } = await world.grant();
    const first = await world.rotated(refresh_token);
    const again = await world.rotated(refresh_token);
    await world.revoke(again.access_token);
    assert.deepEqual(await world.alive(first.access_token, again.access_token, first.refresh_token), [
      false,
      false,
      false,
    ]);
  });

  for (const useOpaqueRefreshTokens of [false, true]) {
    const format = useOpaqueRefreshTokens ? 'opaque tokens' : 'JWTs';
    spec(
      `a family of ${format} ends when its time is over, however often it was rotated`,
      async (world) => {
        const family: { refresh_token: string }[] = [await world.grant()];
        const begunAt = world.clock.seconds;
        const newest = () => family.at(-1)?.refresh_token ?? '';
        for (let rotation = 1; rotation <= 4; rotation++) {
          world.clock.advance(500);
          family.push(await world.rotated(newest()));
        }
        const { exp } = JSON.parse((await world.introspect(newest())).body);
        assert.equal(exp, begunAt + 2400, 'shorter than a token’s own lifetime');
        const explained = await world.server.operator.explainToken(newest());
        assert.equal(explained.claims?.family_exp, begunAt + 2400);
        world.clock.advance(399);
        family.push(await world.rotated(newest()));
        world.clock.advance(1);
        assert.deepEqual(await world.refresh(newest()), DEAD_REFRESH_TOKEN);
        assert.equal(world.lastReason, 'expired');
        assert.deepEqual(await world.alive(newest()), [false]);
      },
      { useOpaqueRefreshTokens, refreshTokenLifetime: 600, refreshFamilyLifetime: 2400 },
    );
  }

  spec('RFC 9700 §4.14.2 a retry after the grace kills the family', async (world) => {
    const { refresh_token, access_token } = await world.grant();
    const second = await world.rotated(refresh_token);
    world.clock.nowMs += GRACE_MS;
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    assert.equal(world.lastReason, 'refresh_token_reused');
    assert.deepEqual(await world.alive(access_token, second.access_token, second.refresh_token), [
      false,
      false,
      false,
    ]);
    assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);
    const told = world.events.filter(({ type }) => type === 'refresh_token_reused');
    assert.deepEqual(
      told.map(({ clientId, operation }) => [clientId, operation]),
      [['web', 'token']],
    );
  });

  spec(
    'RFC 9700 §4.14.2 a token older than the predecessor ends the family, even within the grace',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      const third = await world.rotated(second.refresh_token);
      assert.deepEqual(await world.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
      assert.equal(world.lastReason, 'refresh_token_reused');
      assert.deepEqual(await world.alive(second.access_token, third.access_token, third.refresh_token), [
        false,
        false,
        false,
      ]);
      assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.refresh(third.refresh_token), DEAD_REFRESH_TOKEN);
    },
  );

  spec(
    'RFC 9700 §4.14.2 reuse ends that family only: other devices and other users keep their tokens',
    async (world) => {
      const stolen = await world.grant();
      const others = [await world.grant(), await world.grant('bob'), await world.grant('alice', 'spa')];
      await world.rotated(stolen.refresh_token);
      world.clock.nowMs += GRACE_MS;
      assert.deepEqual(await world.refresh(stolen.refresh_token), DEAD_REFRESH_TOKEN);
      for (const { access_token, refresh_token } of others) {
        assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
      }
      issued(await world.refresh(others[0]?.refresh_token ?? ''));
    },
  );

  spec('RFC 9700 §4.14.2 of many refreshes at once all lead to one successor', async (world) => {
    const { refresh_token } = await world.grant();
    const responses = await Promise.all(Array.from({ length: 10 }, () => world.refresh(refresh_token)));
    const successors = new Set(responses.map((response) => issued(response).refresh_token));
    assert.equal(successors.size, 1);
    assert.deepEqual(await world.alive(...successors, refresh_token), [true, false]);
  });

  spec(
    'RFC 9700 §4.14.2 without a grace the second use kills the family',
    async (world) => {
      const { refresh_token } = await world.grant();
      const second = await world.rotated(refresh_token);
      assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.alive(second.refresh_token), [false]);
    },
    { refreshGrace: 0 },
  );

  spec('§6 a narrower scope narrows only that access token', async (world) => {
    const { refresh_token } = await world.grant();
    const narrow = issued(await world.refresh(refresh_token, { scope: 'read' }));
    assert.equal(narrow.scope, 'read');
    assert.equal(decodeJwt(narrow.access_token).scope, 'read');
    assert.equal((await world.userInfo(narrow.access_token)).status, 403);
    const retried = issued(await world.refresh(refresh_token, { scope: 'openid write' }));
    assert.deepEqual([retried.scope, retried.refresh_token], ['openid write', narrow.refresh_token]);
    const whole = issued(await world.refresh(narrow.refresh_token));
    assert.equal(whole.scope, 'openid profile email read write');
  });

  spec('§6 a wider scope is refused and spends nothing', async (world) => {
    const { refresh_token } = await world.grant('alice', 'web', 'openid read');
    for (const scope of ['write', 'read write', 'openid read profile', 'admin']) {
      assert.deepEqual(await world.refresh(refresh_token, { scope }), SCOPE_NOT_ALLOWED, scope);
    }
    assert.deepEqual(await world.refresh(refresh_token, { scope: ' ' }), SCOPE_MALFORMED);
    assert.deepEqual(await world.alive(refresh_token), [true]);
    assert.equal((await world.rotated(refresh_token)).scope, 'openid read');
    assert.deepEqual(await world.refresh(refresh_token, { scope: 'write' }), SCOPE_NOT_ALLOWED);
  });

  spec('§6 another client’s refresh token is refused, and nothing happens to it', async (world) => {
    const { refresh_token } = await world.grant();
    const asSpa = { grant_type: 'refresh_token', refresh_token, client_id: 'spa' };
    assert.deepEqual(await world.post('/token', asSpa), DEAD_REFRESH_TOKEN);
    assert.equal(world.lastReason, 'refresh_token_foreign');
    const second = await world.rotated(refresh_token);
    world.clock.nowMs += GRACE_MS;
    assert.deepEqual(await world.post('/token', asSpa), DEAD_REFRESH_TOKEN);
    assert.deepEqual(await world.alive(second.access_token, second.refresh_token), [true, true]);
  });

  spec('§6 everything except a live refresh token gets the same response', async (world) => {
    const { access_token, id_token, refresh_token } = await world.grant();
    const revoked = await world.grant();
    await world.revoke(revoked.refresh_token);
    const texts = [
      access_token,
      id_token,
      await world.code(),
      revoked.refresh_token,
      `${refresh_token}A`,
      refresh_token.slice(0, -1),
      'x',
      `grantd_rt_${'A'.repeat(43)}`,
      'ä',
    ];
    for (const text of texts) assert.deepEqual(await world.refresh(text), DEAD_REFRESH_TOKEN, text);
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  });

  spec(
    '§6 an expired refresh token is refused, to the second, also within the grace of its rotation',
    async (world) => {
      const [first, late] = [await world.grant(), await world.grant()];
      const expiresAtMs = (world.clock.seconds + 14 * 24 * 60 * 60) * 1000;
      world.clock.nowMs = expiresAtMs - 1;
      const second = await world.rotated(first.refresh_token);
      world.clock.nowMs = expiresAtMs;
      assert.deepEqual(await world.refresh(late.refresh_token), DEAD_REFRESH_TOKEN);
      assert.equal(world.lastReason, 'expired');
      assert.deepEqual(await world.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.alive(second.refresh_token), [true]);
    },
  );

  spec('§6 a retry after a revocation revives no token', async (world) => {
    const { refresh_token } = await world.grant();
    const second = await world.rotated(refresh_token);
    await world.revoke(second.refresh_token);
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);

    const other = await world.grant();
    const next = await world.rotated(other.refresh_token);
    await world.revoke(next.access_token);
    assert.deepEqual(await world.refresh(other.refresh_token), DEAD_REFRESH_TOKEN);
  });

  spec('§6 a disabled user or client refreshes nothing, even when enabled again', async (world) => {
    const tokens = await world.grant();
    await world.storage.setDisabled('subject', 'alice', true);
    assert.deepEqual(await world.refresh(tokens.refresh_token), DEAD_REFRESH_TOKEN);
    await world.storage.setDisabled('subject', 'alice', false);
    assert.deepEqual(await world.refresh(tokens.refresh_token), DEAD_REFRESH_TOKEN);

    const { refresh_token } = await world.grant();
    const strict = await secondServer(world, { getSubjectState: () => 'disabled' });
    assert.deepEqual(await strict.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    await world.storage.setDisabled('client', 'web', true);
    assert.equal((await world.refresh(refresh_token)).status, 401);
    await world.storage.setDisabled('client', 'web', false);
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
  });

  spec('§6 a client whose refresh tokens do not rotate keeps the one it has', async (world) => {
    await addClient(world, { ...CLIENTS.web, id: 'steady', rotateRefreshTokens: false });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: 'steady', redirect_uri, ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const { refresh_token, access_token } = issued(await asClient(world, 'steady', form));
    const refresh = (more = {}) =>
      asClient(world, 'steady', { grant_type: 'refresh_token', refresh_token, ...more });
    const second = issued(await refresh());
    world.clock.advance(60);
    const third = issued(await refresh({ scope: 'read' }));
    assert.deepEqual([second.refresh_token, third.refresh_token], [refresh_token, refresh_token]);
    assert.equal(third.scope, 'read');
    assert.deepEqual(
      await world.alive(access_token, second.access_token, third.access_token, refresh_token),
      [true, true, true, true],
    );
    await world.revoke(third.access_token, null);
    assert.deepEqual(await world.alive(third.access_token, refresh_token), [true, true]);
    const asItself = { authorization: basic('steady') };
    await world.post('/token/revoke', { token: third.access_token }, null, asItself);
    assert.deepEqual(
      await world.alive(access_token, second.access_token, third.access_token, refresh_token),
      [false, false, false, false],
    );
    assert.deepEqual(await refresh(), DEAD_REFRESH_TOKEN);
  });

  for (const useOpaqueRefreshTokens of [false, true]) {
    const [from, to] = useOpaqueRefreshTokens ? ['opaque', 'a JWT'] : ['a JWT', 'opaque'];
    spec(
      `§6 a refresh token that is ${from} stays valid when new ones become ${to}, before a refresh and before its retry`,
      async (world) => {
        const changed = await secondServer(world, { useOpaqueRefreshTokens: !useOpaqueRefreshTokens });
        const isOpaque = (token: string) => token.startsWith('grantd_rt_');

        const beforeRefresh = await world.grant();
        const successor = await changed.rotated(beforeRefresh.refresh_token);
        assert.deepEqual(
          [isOpaque(beforeRefresh.refresh_token), isOpaque(successor.refresh_token)],
          [useOpaqueRefreshTokens, !useOpaqueRefreshTokens],
        );
        for (const server of [world, changed]) {
          assert.equal(
            (await server.rotated(beforeRefresh.refresh_token)).refresh_token,
            successor.refresh_token,
          );
        }

        const beforeRetry = await world.grant();
        const { refresh_token } = await world.rotated(beforeRetry.refresh_token);
        assert.equal((await changed.rotated(beforeRetry.refresh_token)).refresh_token, refresh_token);
        issued(await changed.refresh(refresh_token));
      },
      { useOpaqueRefreshTokens },
    );

    spec(
      `§6 a retry gets the same successor, ${from}, when the server’s secret was changed in between`,
      async (world) => {
        const { refresh_token } = await world.grant();
        const successor = await world.rotated(refresh_token);
        const changing = await secondServer(world, { secret: [NEW_SECRET, SECRET], useOpaqueRefreshTokens });
        assert.equal((await changing.rotated(refresh_token)).refresh_token, successor.refresh_token);

        const next = await changing.rotated(successor.refresh_token);
        const behind = await secondServer(world, { secret: [SECRET, NEW_SECRET], useOpaqueRefreshTokens });
        assert.equal((await behind.rotated(successor.refresh_token)).refresh_token, next.refresh_token);
      },
      { useOpaqueRefreshTokens },
    );
  }

  spec('§6 a retry gets the same successor when the signing key was rotated in between', async (world) => {
    const { refresh_token } = await world.grant();
    const successor = await world.rotated(refresh_token);
    await world.server.operator.rotateSigningKey('RS256');
    const again = await world.rotated(refresh_token);
    assert.equal(again.refresh_token, successor.refresh_token);
    const keys = [successor.access_token, again.access_token].map(
      (token) => decodeProtectedHeader(token).kid,
    );
    assert.notEqual(keys[0], keys[1]);
    issued(await world.refresh(successor.refresh_token));
  });

  spec(
    '§6 a retry gets the same successor from a store that gives claims back in another order',
    async (world) => {
      const { tokens } = world.storage;
      const reordering: AdministrableStorage = {
        ...world.storage,
        tokens: {
          ...tokens,
          async getByRefreshToken(id) {
            const record = await tokens.getByRefreshToken(id);
            const claims = Object.fromEntries(Object.entries(record?.claims ?? {}).reverse());
            return record && { ...record, claims };
          },
        },
      };
      const { refresh_token } = await world.grant();
      const successor = await world.rotated(refresh_token);
      const server = await secondServer(world, {}, reordering);
      assert.equal((await server.rotated(refresh_token)).refresh_token, successor.refresh_token);
    },
  );
});

test('RFC 9700 §2.2.2 the refresh tokens of a public client rotate, whatever its registration says', async (t) => {
  const world = await openWorld(t);
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'still', rotateRefreshTokens: false });
  const [issued] = await world.server.operator.issueTokens({
    clientId: 'still',
    subject: 'alice',
    refresh: true,
  });
  const form = {
    grant_type: 'refresh_token',
    client_id: 'still',
    refresh_token: String(issued?.refreshToken),
  };
  const { refresh_token } = JSON.parse((await world.post('/token', form)).body);
  assert.notEqual(refresh_token, issued?.refreshToken);
});

test('a family without an end gets one at its next rotation, and 0 sets none', async (t) => {
  const options = { refreshTokenLifetime: 600, refreshFamilyLifetime: 0 };
  const world = await openWorld(t, options);
  const endOf = async (token: string) => (await world.server.operator.explainToken(token)).claims?.family_exp;
  const first = await world.rotated((await world.grant()).refresh_token);
  assert.equal(await endOf(first.refresh_token), undefined);
  const limited = await secondServer(world, { ...options, refreshFamilyLifetime: 1000 });
  const second = await limited.rotated(first.refresh_token);
  const end = world.clock.seconds + 1000;
  assert.equal(await endOf(second.refresh_token), end);
  world.clock.advance(100);
  const third = await world.rotated(second.refresh_token);
  assert.equal(await endOf(third.refresh_token), end, 'an end that was set stays');
});

test('a family ends after 90 days, or after the lifetime of one token that is longer', async (t) => {
  const DAY = 24 * 60 * 60;
  for (const [refreshTokenLifetime, days] of [
    [14 * DAY, 90],
    [180 * DAY, 180],
  ] as const) {
    const world = await openWorld(t, { refreshTokenLifetime });
    const { claims } = await world.server.operator.explainToken((await world.grant()).refresh_token);
    assert.equal(claims?.family_exp, world.clock.seconds + days * DAY);
  }
});
