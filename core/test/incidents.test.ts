/** Incidents of other authorization servers, which must not happen here. Each title begins with its public name. */
// Long: one test for each public incident.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { NewToken } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { decodeJwt } from 'jose';
import { equalInConstantTime } from '../src/platform/environment.ts';
import { TOKENS_SQL } from '../src/storage/sqlite/tokens.ts';
import { BreakableStore } from './harness/breakable_store.ts';
import type { Place } from './harness/places.ts';
import {
  bearerError,
  CLIENT_REFUSED,
  errorOf,
  INACTIVE,
  JSON_HEADERS,
  OPEN_JSON_HEADERS,
  OUTAGE_DESCRIPTION,
  REFRESH_REFUSED,
  REVOKED,
} from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { forgedWithStolenKey, withBrokenSignature } from './harness/stolen_key.ts';
import { MEMORY, SQLITE, type StoreKind } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { NODE } from './harness/transports/node.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  type GrantedTokens,
  openWorld,
  SECRET,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const CODE_REFUSED = errorOf(400, 'invalid_grant', 'the authorization code is not valid', OPEN_JSON_HEADERS);
const SCOPE_REFUSED = errorOf(400, 'invalid_scope', 'a scope is not allowed', OPEN_JSON_HEADERS);

/** The incidents, on both stores. */
function incident(
  title: string,
  run: (world: World, t: TestContext) => Promise<void>,
  options: WorldOptions = {},
): void {
  for (const store of [MEMORY, SQLITE]) {
    test(title, async (t) => run(await openWorld(t, options, { transport: FUNCTION, store }), t));
  }
}

// ── A. Introspection answers the wrong caller ──────────────────────────────────────────────────────────────

incident(
  'CVE-2024-47077: with an audience policy the caller’s credentials are checked against the token',
  async (world) => {
    const { access_token, refresh_token } = await world.grant();
    assert.deepEqual(decodeJwt(access_token).aud, 'https://api.example');
    assert.equal(isActive(await world.introspect(access_token, 'api')), true);
    assert.equal(isActive(await world.introspect(access_token, 'web')), true);
    assert.deepEqual(await world.introspect(access_token, 'machine'), INACTIVE);
    assert.equal(world.lastReason, 'policy');
    assert.deepEqual(await world.introspect(refresh_token, 'api'), INACTIVE);
    assert.deepEqual(await world.introspect(refresh_token, 'machine'), INACTIVE);
  },
  { introspectionPolicy: 'audience', defaultAudience: 'https://api.example' },
);

incident(
  'CVE-2026-37979, CVE-2026-18208: an inactive response carries nothing, in any form',
  async (world) => {
    const { access_token: token } = await world.grant();
    const form = { token };
    for (const accept of ['*/*', 'application/jwt', 'text/html']) {
      assert.deepEqual(await world.post('/token/introspect', form, 'machine', { accept }), INACTIVE);
    }
    const signed = { accept: 'application/token-introspection+jwt' };
    const claimsFor = async (caller: 'web' | 'api' | 'machine') =>
      decodeJwt((await world.post('/token/introspect', form, caller, signed)).body);
    const inactiveFor = (aud: string) => ({
      iss: world.server.issuer,
      aud,
      iat: world.clock.seconds,
      token_introspection: { active: false },
    });
    assert.deepEqual(await claimsFor('machine'), inactiveFor('machine'));
    await world.revoke(token);
    for (const caller of ['web', 'api', 'machine'] as const) {
      assert.deepEqual(await world.introspect(token, caller), INACTIVE);
      assert.deepEqual(await claimsFor(caller), inactiveFor(caller));
    }
  },
  { introspectionPolicy: 'audience' },
);

incident('Only the issuing client may introspect: an API in the audience may too', async (world) => {
  for (const token of [(await world.grant()).access_token, await world.machineToken()]) {
    const answers = await Promise.all(
      (['api', 'web', 'machine'] as const).map((who) => world.introspect(token, who)),
    );
    assert.deepEqual(answers.map(isActive), [true, true, true]);
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
  }
});

// ── B. Introspection gives the wrong answer ────────────────────────────────────────────────────────────────

incident(
  'GHSA-9xx5-cv6j-x533: introspection is not always active, and revocation does something',
  async (world) => {
    const { access_token } = await world.grant();
    assert.equal(isActive(await world.introspect(access_token)), true);
    assert.deepEqual(await world.revoke(access_token), REVOKED);
    assert.deepEqual(await world.introspect(access_token), INACTIVE);
  },
);

incident(
  'CVE-2026-68481: no revoked token is reported active, by whatever way it was revoked',
  async (world) => {
    const ways: readonly ((tokens: GrantedTokens) => unknown)[] = [
      ({ access_token }) => world.revoke(access_token),
      ({ refresh_token }) => world.revoke(refresh_token),
      () => world.storage.revokeAll({ principal: 'subject', id: 'alice' }),
      () => world.storage.revokeAll({ principal: 'client', id: 'web' }),
      () => world.storage.revokeAll({ principal: 'session', id: 'session of alice' }),
      () => world.storage.revokeAll({ issuedBeforeMs: world.clock.nowMs + 1 }),
    ];
    for (const revoke of ways) {
      const tokens = await world.grant();
      assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [true, true]);
      await revoke(tokens);
      for (const token of [tokens.access_token, tokens.refresh_token]) {
        for (const hint of [undefined, 'access_token', 'refresh_token']) {
          assert.deepEqual(await world.introspect(token, 'api', hint), INACTIVE);
        }
      }
      world.clock.advance(1);
    }
  },
);

incident(
  'CVE-2026-8922: a not-before of the whole server counts, also once a client has one of its own',
  async (world) => {
    await world.grant();
    await world.storage.revokeAll({ principal: 'client', id: 'web' });
    world.clock.advance(10);
    const { access_token, refresh_token } = await world.grant();
    const bystander = await world.machineToken();
    world.clock.advance(10);
    await world.storage.revokeAll({ issuedBeforeMs: world.clock.nowMs });
    assert.deepEqual(await world.alive(access_token, refresh_token, bystander), [false, false, false]);
    assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
    const after = await world.grant();
    await world.storage.revokeAll({ principal: 'client', id: 'machine' });
    assert.deepEqual(await world.alive(after.access_token, access_token), [true, false]);
  },
);

incident(
  'CVE-2026-3583: no response is cached: what one process revoked is dead at the other at once',
  async (world) => {
    const other = await secondServer(world);
    for (let i = 0; i < 3; i++) {
      const { access_token, refresh_token } = await world.grant();
      for (const token of [access_token, refresh_token]) {
        assert.equal(isActive(await other.introspect(token)), true);
        assert.equal(isActive(await other.introspect(token)), true);
      }
      assert.deepEqual(await world.revoke(access_token), REVOKED);
      assert.deepEqual(await other.introspect(access_token), INACTIVE);
      assert.deepEqual(await other.introspect(refresh_token), INACTIVE);
      assert.deepEqual(await other.refresh(refresh_token), REFRESH_REFUSED);
    }
  },
);

incident(
  'CVE-2026-27840: an opaque token that is cut off, lengthened or changed by a bit is none',
  async (world) => {
    const { access_token, refresh_token } = await world.grant();
    for (const token of [access_token, refresh_token]) {
      for (let length = 0; length < token.length; length += 3) {
        const part = token.slice(0, length);
        if (part !== '') assert.deepEqual(await world.introspect(part), INACTIVE, part);
      }
      const cut = [
        token.slice(0, -1),
        `${token}A`,
        `${token} `,
        ` ${token}`,
        token.toLowerCase(),
        token.slice(10),
      ];
      for (const text of [...cut, changedAt(token, token.length - 1), changedAt(token, 12)]) {
        assert.deepEqual(await world.introspect(text), INACTIVE, text);
      }
    }
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  },
  { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
);

incident('Claims of a forged JWT are not echoed, though its jti is that of a live record', async (world) => {
  const { access_token } = await world.grant();
  const claims = decodeJwt(access_token);
  const forgeries = [
    await forgedWithStolenKey(world, { ...claims, scope: 'admin' }),
    await forgedWithStolenKey(world, { ...claims, sub: 'bob', username: 'bob' }),
    await forgedWithStolenKey(world, { ...claims, aud: 'https://other.example' }),
    await forgedWithStolenKey(world, { ...claims, exp: world.clock.seconds + 999_999 }),
    withBrokenSignature(access_token),
  ];
  for (const forged of forgeries) {
    assert.deepEqual(await world.introspect(forged), INACTIVE);
    assert.equal((await world.userInfo(forged)).status, 401);
  }
  assert.equal(isActive(await world.introspect(access_token)), true);
});

incident('One clock for all: a token expires in the same millisecond at every endpoint', async (world) => {
  const { access_token, refresh_token } = await world.grant();
  const expiryOf = (token: string) => (decodeJwt(token).exp ?? 0) * 1000;

  world.clock.nowMs = expiryOf(access_token) - 1;
  assert.equal(isActive(await world.introspect(access_token)), true);
  assert.equal((await world.userInfo(access_token)).status, 200);
  world.clock.nowMs += 1;
  assert.deepEqual(await world.introspect(access_token), INACTIVE);
  assert.equal((await world.userInfo(access_token)).status, 401);

  world.clock.nowMs = expiryOf(refresh_token) - 1;
  assert.equal(isActive(await world.introspect(refresh_token)), true);
  const refreshed = await world.refresh(refresh_token);
  assert.equal(refreshed.status, 200);
  const next: GrantedTokens = JSON.parse(refreshed.body);
  world.clock.nowMs = expiryOf(next.refresh_token);
  assert.deepEqual(await world.introspect(next.refresh_token), INACTIVE);
  assert.deepEqual(await world.refresh(next.refresh_token), REFRESH_REFUSED);
});

incident('A refresh token has an expiry of its own, and is active whatever the hint', async (world) => {
  const { access_token, refresh_token } = await world.grant();
  world.clock.advance(3600);
  assert.deepEqual(await world.introspect(access_token), INACTIVE);
  for (const hint of [undefined, 'access_token', 'refresh_token']) {
    const { body } = await world.introspect(refresh_token, 'api', hint);
    const { active, exp } = JSON.parse(body);
    assert.deepEqual([active, exp], [true, decodeJwt(refresh_token).exp]);
  }
});

incident('A bad signature, an unknown kid and a future nbf are inactive, never 500', async (world) => {
  const { access_token } = await world.grant();
  const early = await forgedWithStolenKey(world, { jti: 'early', nbf: world.clock.seconds + 60 });
  await world.storage.tokens.issue([await recordOf(early, 'early', world)], {});
  const oddities = [
    withBrokenSignature(access_token),
    await forgedWithStolenKey(world, {}, { kid: 'unknown' }),
    await forgedWithStolenKey(world, {}, { kid: '' }),
    await forgedWithStolenKey(world, { jti: 42 }),
    await forgedWithStolenKey(world, { iss: 42 }),
    access_token.replace(/\..*\./, '..'),
    early,
  ];
  for (const token of oddities) {
    assert.deepEqual(await world.introspect(token), INACTIVE);
    assert.equal((await world.userInfo(token)).status, 401);
    assert.deepEqual(await world.revoke(withBrokenSignature(token)), REVOKED);
    assert.deepEqual(await world.refresh(token), REFRESH_REFUSED);
  }
  assert.equal(await lastReasonOf(world, early), 'not_yet_valid');
  world.clock.advance(60);
  assert.equal(isActive(await world.introspect(early)), true, 'the nbf alone kept it from being active');
});

// ── C. Revocation fails silently or hits the wrong token ───────────────────────────────────────────────────

for (const failure of ['rejects', 'throws', 'rejects as a thenable'] as const) {
  for (const kind of [MEMORY, SQLITE]) {
    test('CVE-2020-15223: a storage error at revocation is 503, not a 200 with the token alive', async (t) => {
      const store = new BreakableStore(kind);
      const world = await openWorld(t, {}, { transport: NODE, store });
      const { access_token, refresh_token } = await world.grant();
      store.break('tokens.revoke', failure);
      const headers = { ...OPEN_JSON_HEADERS, 'retry-after': '1' };
      const outage = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, headers);
      for (const token of [access_token, refresh_token]) assert.deepEqual(await world.revoke(token), outage);
      assert.equal(
        world.events.some(({ type }) => type === 'token_revoked'),
        false,
      );
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
      store.repair();
      assert.deepEqual(await world.revoke(access_token), REVOKED);
      assert.deepEqual(await world.alive(access_token, refresh_token), [false, false]);
    });
  }
}

incident(
  'CVE-2016-6582, CVE-2018-1000211: public clients can revoke, and wrong credentials cannot',
  async (world) => {
    const spa = await world.grant('alice', 'spa');
    assert.deepEqual(await world.revoke(spa.refresh_token, 'spa'), REVOKED);
    assert.deepEqual(await world.alive(spa.access_token, spa.refresh_token), [false, false]);

    const { access_token: token } = await world.grant();
    assert.deepEqual(await world.post('/token/revoke', { token, client_id: 'web' }), CLIENT_REFUSED);
    const wrong = { authorization: basic('web', 'wrong') };
    assert.deepEqual(await world.post('/token/revoke', { token }, null, wrong), CLIENT_REFUSED);
    assert.deepEqual(await world.alive(token), [true]);
  },
);

incident(
  'CVE-2026-115472, CVE-2026-22723, GHSA-j4p3-2m2h-cv5f: no client revokes the tokens of another client or user',
  async (world) => {
    const alice = await world.grant('alice', 'web');
    const bob = await world.grant('bob', 'web');
    const spa = await world.grant('alice', 'spa');
    for (const { access_token, refresh_token } of [alice, bob]) {
      for (const token of [access_token, refresh_token]) {
        assert.deepEqual(await world.revoke(token, 'spa'), REVOKED);
        assert.deepEqual(await world.revoke(token, 'machine'), REVOKED);
      }
    }
    await world.revoke(bob.refresh_token, 'web');
    const tokens = [alice, spa].flatMap(({ access_token, refresh_token }) => [access_token, refresh_token]);
    assert.deepEqual(await world.alive(...tokens), [true, true, true, true]);
    assert.deepEqual(await world.alive(bob.access_token, bob.refresh_token), [false, false]);
  },
);

incident(
  'An oracle of existence: unknown and foreign tokens get the same response, byte for byte',
  async (world) => {
    const foreign = await world.grant('alice', 'spa');
    const foreignCode = await world.code('alice', 'spa');
    const unknown = await forgedWithStolenKey(world);
    const texts = [
      foreign.access_token,
      foreign.refresh_token,
      foreignCode,
      unknown,
      `grantd_ac_${'A'.repeat(43)}`,
      'x',
    ];
    for (const hint of [undefined, 'access_token', 'refresh_token', 'auth_code']) {
      for (const text of texts) assert.deepEqual(await world.revoke(text, 'web', hint), REVOKED);
    }
    const form = { grant_type: 'authorization_code', code_verifier: VERIFIER };
    const codes = [foreignCode, `grantd_ac_${'A'.repeat(43)}`, 'x'];
    for (const code of codes)
      assert.deepEqual(await world.post('/token', { ...form, code }, 'web'), CODE_REFUSED);
    for (const text of [foreign.refresh_token, unknown, 'x']) {
      assert.deepEqual(await world.refresh(text), REFRESH_REFUSED);
    }
  },
);

incident(
  'A wrong hint is extended to the other kinds: no 200 with the refresh token alive',
  async (world) => {
    for (const hint of ['access_token', 'auth_code']) {
      const { access_token, refresh_token } = await world.grant();
      assert.deepEqual(await world.revoke(refresh_token, 'web', hint), REVOKED);
      assert.deepEqual(await world.alive(access_token, refresh_token), [false, false]);
      assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
    }
  },
);

incident(
  'With authentication off, the payload of a JWT that does not verify revokes nothing',
  async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const [header, payload] = access_token.split('.');
    const { jti } = decodeJwt(access_token);
    const forgeries = [
      withBrokenSignature(access_token),
      withBrokenSignature(refresh_token),
      `${header}.${payload}.`,
      `${header}.${payload}.AAAA`,
      await forgedWithStolenKey(world, { jti }),
    ];
    for (const forged of forgeries) assert.deepEqual(await world.revoke(forged, null), REVOKED);
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  },
  { authenticateRevoke: false },
);

incident('Revoking all tokens of a client leaves no refresh token that mints new ones', async (world) => {
  const { access_token, refresh_token } = await world.grant();
  const code = await world.code();
  const bystander = await world.grant('alice', 'spa');
  await world.storage.revokeAll({ principal: 'client', id: 'web' });
  assert.deepEqual(await world.alive(access_token, refresh_token, bystander.refresh_token), [
    false,
    false,
    true,
  ]);
  assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
  assert.deepEqual(await world.redeem(code), CODE_REFUSED);
});

incident('A refused revocation is no success in the audit trail', async (world) => {
  const { access_token: token } = await world.grant('alice', 'spa');
  const before = await lastSequence(world);
  world.events.length = 0;
  await world.revoke(token, 'web');
  await world.revoke(withBrokenSignature(token), 'web');
  await world.post('/token/revoke', { token, client_id: 'web', client_secret: 'wrong' });
  await world.revoke(token, 'web', 'unknown');
  assert.deepEqual(
    world.events.map(({ type }) => type),
    ['revocation_ignored', 'revocation_ignored', 'refused', 'refused'],
  );
  assert.equal(await lastSequence(world), before);
  await world.revoke(token, 'spa');
  assert.equal(world.events.at(-1)?.type, 'token_revoked');
  assert.ok((await lastSequence(world)) > before);
});

// ── D. Disabled principals still get tokens ────────────────────────────────────────────────────────────────

incident(
  'CVE-2023-22492: no token outlives the locking of its user, and unlocking brings none back',
  async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const code = await world.code();
    await world.storage.setDisabled('subject', 'alice', true);
    await assertOver(world, access_token, refresh_token);
    assert.deepEqual(await world.redeem(code), CODE_REFUSED);
    await assert.rejects(world.code(), 'no code is given for a locked user');
    await world.storage.setDisabled('subject', 'alice', false);
    await assertOver(world, access_token, refresh_token);
    assert.deepEqual(await world.redeem(code), CODE_REFUSED);
    assert.equal((await world.userInfo((await world.grant()).access_token)).status, 200);
  },
);

incident('CVE-2026-43983: no token outlives a consent that was withdrawn', async (world) => {
  const { access_token, refresh_token } = await world.grant();
  const other = await world.grant('alice', 'spa');
  const { record } = await world.server.operator.explainToken(access_token);
  assert.ok(record?.grantId);
  const next = await world.rotated(refresh_token);
  await world.storage.revokeAll({ principal: 'grant', id: record.grantId });
  await assertOver(world, access_token, refresh_token);
  await assertOver(world, next.access_token, next.refresh_token);
  assert.deepEqual(await world.alive(other.access_token, other.refresh_token), [true, true]);
});

incident(
  'CVE-2025-64521: no token outlives the deactivation of its service account, and no new one is issued',
  async (world) => {
    const token = await world.machineToken();
    await world.storage.setDisabled('client', 'machine', true);
    assert.deepEqual(await world.introspect(token), INACTIVE);
    const ask = () => world.post('/token', { grant_type: 'client_credentials' }, 'machine');
    assert.deepEqual(await ask(), CLIENT_REFUSED);
    await world.storage.setDisabled('client', 'machine', false);
    assert.deepEqual(await world.introspect(token), INACTIVE);
    assert.equal((await ask()).status, 200);
  },
);

incident('CVE-2026-78357: no token outlives a changed password', async (world) => {
  const [phone, browser] = [await world.grant(), await world.grant('alice', 'spa')];
  const code = await world.code();
  const bystander = await world.grant('bob');
  await world.storage.revokeAll({ principal: 'subject', id: 'alice' });
  await assertOver(world, phone.access_token, phone.refresh_token);
  assert.deepEqual(await world.alive(browser.access_token, browser.refresh_token), [false, false]);
  assert.deepEqual(await world.redeem(code), CODE_REFUSED);
  assert.deepEqual(await world.alive(bystander.access_token, bystander.refresh_token), [true, true]);
  assert.equal((await world.userInfo((await world.grant()).access_token)).status, 200);
});

// ── E. Refresh rotation ────────────────────────────────────────────────────────────────────────────────────

incident(
  'CVE-2026-53517, CVE-2026-1035, CVE-2026-50631, CVE-2026-126280: parallel refreshes do not fork a family',
  async (world) => {
    const other = await secondServer(world);
    const { refresh_token } = await world.grant();
    const attempts = Array.from({ length: 20 }, (_, i) => (i % 2 ? world : other).refresh(refresh_token));
    const bodies = (await Promise.all(attempts)).map(({ body }) => JSON.parse(body));
    const successors = new Set(bodies.map((body) => body.refresh_token));
    assert.equal(successors.size, 1);
    assert.deepEqual(await world.alive(refresh_token, ...successors), [false, true]);

    // After the grace period, any reuse ends the family.
    world.clock.advance(60);
    assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
    assert.deepEqual(await world.alive(...successors, bodies[0]?.access_token), [false, false]);
  },
);

incident('CVE-2026-53512: a confidential client does not refresh without its secret', async (world) => {
  const { refresh_token } = await world.grant();
  const form = { grant_type: 'refresh_token', refresh_token };
  assert.deepEqual(await world.post('/token', form), CLIENT_REFUSED);
  assert.deepEqual(await world.post('/token', { ...form, client_id: 'web' }), CLIENT_REFUSED);
  assert.deepEqual(
    await world.post('/token', { ...form, client_id: 'web', client_secret: '' }),
    CLIENT_REFUSED,
  );
  assert.equal((await world.refresh(refresh_token)).status, 200);
});

incident('CVE-2026-55672: code and refresh token are bound to their client', async (world) => {
  const { access_token, refresh_token } = await world.grant('alice', 'spa');
  const code = await world.code('alice', 'spa');
  assert.deepEqual(await world.refresh(refresh_token), REFRESH_REFUSED);
  const stolen = { code, redirect_uri: 'https://spa.example/callback' };
  assert.deepEqual(await world.redeem(code, 'web', stolen), CODE_REFUSED);
  assert.deepEqual(
    await world.alive(access_token, refresh_token),
    [true, true],
    'a thief ends nothing either',
  );
  assert.equal((await world.redeem(code, 'spa')).status, 200);
  const form = { grant_type: 'refresh_token', refresh_token, client_id: 'spa' };
  assert.equal((await world.post('/token', form)).status, 200);
});

incident('A family is not client and user: one stale device does not log out the others', async (world) => {
  const [stale, other] = [await world.grant(), await world.grant()];
  const current = await world.rotated(stale.refresh_token);
  world.clock.advance(60);
  assert.deepEqual(await world.refresh(stale.refresh_token), REFRESH_REFUSED);
  await assertOver(world, current.access_token, current.refresh_token);
  assert.deepEqual(await world.alive(other.access_token, other.refresh_token), [true, true]);
  assert.equal((await world.refresh(other.refresh_token)).status, 200);
});

// ── F. UserInfo, scope and audience ────────────────────────────────────────────────────────────────────────

incident('CVE-2026-55982: the scopes of the token decide what UserInfo returns', async (world) => {
  const { access_token, refresh_token } = await world.grant('alice', 'web', 'openid');
  assert.equal((await world.userInfo(access_token)).body, '{"sub":"alice"}');
  const wider = await world.refresh(refresh_token, { scope: 'openid email' });
  assert.deepEqual(wider, SCOPE_REFUSED);
  const { access_token: none } = await world.grant('alice', 'web', 'email');
  assert.equal((await world.userInfo(none)).status, 403);
});

incident(
  'CVE-2018-11047: a refresh token and an ID token are no access tokens, and none of them refreshes but the one',
  async (world) => {
    const { access_token, refresh_token, id_token } = await world.grant();
    const refused = bearerError(401, 'invalid_token', 'the token is not an access token');
    assert.deepEqual(await world.userInfo(refresh_token), refused);
    assert.deepEqual(await world.userInfo(id_token), refused);
    assert.deepEqual(await world.introspect(id_token), INACTIVE);
    assert.deepEqual(await world.refresh(access_token), REFRESH_REFUSED);
    assert.deepEqual(await world.refresh(id_token), REFRESH_REFUSED);
  },
);

incident('CVE-2024-52287: scopes that a client was not registered for cannot be obtained', async (world) => {
  const ask = (scope: string) => world.post('/token', { grant_type: 'client_credentials', scope }, 'machine');
  for (const scope of ['admin', 'read admin', 'email', 'READ', '*'])
    assert.deepEqual(await ask(scope), SCOPE_REFUSED);
  for (const scope of ['admin', 'phone', 'offline_access'])
    await assert.rejects(world.grant('alice', 'web', scope));
  assert.equal((await world.grant('alice', 'web', 'openid phone')).scope, 'openid');
  const { refresh_token } = await world.grant('alice', 'web', 'read');
  for (const scope of ['write', 'read write', 'openid']) {
    assert.deepEqual(await world.refresh(refresh_token, { scope }), SCOPE_REFUSED);
  }
  const { scope } = await world.rotated(refresh_token);
  assert.equal(scope, 'read');
});

incident('CVE-2026-37977: no CORS origin is taken from a JWT that has not been verified', async (world) => {
  const origin = 'https://evil.example';
  const claims = { azp: 'spa', 'allowed-origins': [origin], origin, redirect_uris: [origin] };
  const [live, spa] = [await world.grant(), await world.grant('alice', 'spa')];
  const forged = await forgedWithStolenKey(world, { ...claims, jti: decodeJwt(live.access_token).jti });
  for (const token of [forged, withBrokenSignature(forged), withBrokenSignature(spa.access_token)]) {
    const headers = { origin, authorization: `Bearer ${token}` };
    const response = await world.send({ method: 'GET', path: '/userinfo', headers });
    assert.equal(response.status, 401);
    assert.deepEqual(openedTo(response), undefined);
  }
  // A page of one client cannot read a response for another client's token.
  const headers = { origin: 'https://web.example', authorization: `Bearer ${spa.access_token}` };
  const response = await world.send({ method: 'GET', path: '/userinfo', headers });
  assert.deepEqual([response.status, openedTo(response)], [200, undefined]);
});

incident(
  'The attributes of the host do not override sub',
  async (world) => {
    const { access_token, id_token } = await world.grant();
    assert.equal((await world.userInfo(access_token)).body, '{"sub":"alice"}');
    assert.equal(decodeJwt(id_token).sub, 'alice');
  },
  {
    oidc: {
      getUserClaims: () => JSON.parse('{"sub":"admin","__proto__":{"sub":"admin"},"constructor":"x"}'),
      claimsByScope: { openid: ['sub'] },
    },
  },
);

incident('Every 401 has a challenge', async (world) => {
  const { access_token: token } = await world.grant();
  await world.revoke(token);
  const get = (headers: Readonly<Record<string, string>>) =>
    world.send({ method: 'GET', path: '/userinfo', headers });
  const bearer = [await get({}), await get({ authorization: 'Basic x' }), await world.userInfo(token)];
  for (const response of [...bearer, await world.post('/userinfo', {})]) {
    assert.equal(response.status, 401);
    assert.match(
      response.headers['www-authenticate'] ?? '',
      /^Bearer error="invalid_token", error_description="[^"]+"(?:, DPoP algs="[^"]+")?$/,
    );
  }
  for (const path of ['/token', '/token/introspect', '/token/revoke']) {
    for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: basic('nobody') }]) {
      const { status, headers: answered } = await world.post(path, { token }, null, headers);
      assert.equal(status, 401);
      assert.equal(answered['www-authenticate'], 'Basic realm="https://as.example", charset="UTF-8"');
    }
  }
});

incident('Errors are JSON though the request says Accept: text/html', async (world) => {
  const accept = { accept: 'text/html,application/xhtml+xml' };
  const responses = [
    await world.send({ method: 'GET', path: '/userinfo', headers: accept }),
    await world.send({ method: 'PUT', path: '/userinfo', headers: accept }),
    await world.post('/token/introspect', {}, null, accept),
    await world.post('/token/revoke', { token: 'x' }, null, accept),
    await world.post('/token', {}, 'web', accept),
  ];
  for (const response of responses) {
    assert.equal(response.headers['content-type'], 'application/json');
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.deepEqual(Object.keys(JSON.parse(response.body)), ['error', 'error_description']);
  }
});

incident(
  'The text of an exception is in no response',
  async (world) => {
    const { access_token } = await world.grant();
    const responses = [await world.userInfo(access_token), await world.introspect(access_token)];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [503, 500],
    );
    for (const response of responses)
      assert.equal(/hunter2|relation|at .*\.ts/.test(JSON.stringify(response)), false);
  },
  {
    oidc: {
      getUserClaims: () => Promise.reject(new Error('relation "people" of grantd:hunter2 does not exist')),
    },
    introspectionPolicy: () =>
      Promise.reject(new Error('relation "policy" of grantd:hunter2 does not exist')),
  },
);

// ── G. Client authentication ───────────────────────────────────────────────────────────────────────────────

incident(
  'Basic credentials are split at the first colon, form-decoded, and their scheme is case-insensitive',
  async (world) => {
    const secrets = ['a:b:c', 'a b+c', '%41%', 'ä€😀', '100%', ':', 'a=b&c=d'];
    for (const [i, secret] of secrets.entries()) {
      const id = `client ${i}`;
      const secrets = [await world.server.operator.hashClientSecret(secret)];
      await world.storage.clients.add({ id, secrets, grantTypes: [], scopes: [], redirectUris: [] });
      const encoded = `${formEncoded(id)}:${formEncoded(secret)}`;
      for (const scheme of ['Basic', 'basic', 'BASIC', 'bAsIc']) {
        const authorization = `${scheme} ${btoa(encoded)}`;
        assert.deepEqual(
          await world.post('/token/introspect', { token: 'x' }, null, { authorization }),
          INACTIVE,
          secret,
        );
      }
      const cutOff = `Basic ${btoa(`${formEncoded(id)}:${formEncoded(secret.slice(0, -1))}`)}`;
      const { status } = await world.post('/token/introspect', { token: 'x' }, null, {
        authorization: cutOff,
      });
      assert.equal(status, 401, secret);
    }
  },
);

incident('Credentials in header and body at once are refused, neither is ignored', async (world) => {
  const expected = errorOf(
    400,
    'invalid_request',
    'the request carries more than one client credential',
    JSON_HEADERS,
  );
  for (const secret of ['the secret of api', 'wrong']) {
    const form = { token: 'x', client_id: 'api', client_secret: secret };
    assert.deepEqual(await world.post('/token/introspect', form, 'api'), expected);
    const wrong = { authorization: basic('api', 'wrong') };
    assert.deepEqual(await world.post('/token/introspect', form, null, wrong), expected);
  }
  assert.deepEqual(await world.post('/token/introspect', { token: 'x', client_id: 'web' }, 'api'), expected);
});

test('Secrets are compared in a time that does not depend on where they differ', () => {
  const secret = 'a'.repeat(2_000_000);
  const early = `b${secret.slice(1)}`;
  const late = `${secret.slice(1)}b`;
  assert.deepEqual(
    [early, late, `${secret}a`, secret].map((text) => equalInConstantTime(text, secret)),
    [false, false, false, true],
  );
  const [first, last] = [early, late].map((text) => fastest(() => equalInConstantTime(text, secret)));
  assert.ok(first !== undefined && last !== undefined && first > last / 10, `${first} ms and ${last} ms`);
});

test('An unknown client takes as long as a wrong secret', async (t) => {
  // Many accepted server secrets and a long client secret, so that the comparison dominates the time of the request.
  const secret = [SECRET, ...Array.from({ length: 49 }, (_, i) => `${SECRET} number ${i}`)];
  const world = await openWorld(t, { secret });
  const ask = (client_id: string) =>
    world.post('/token/introspect', { token: 'x', client_id, client_secret: 'x'.repeat(60_000) });
  assert.deepEqual(await ask('nobody'), await ask('api'));
  const unknown = await fastestOf(() => ask('nobody'));
  const wrong = await fastestOf(() => ask('api'));
  assert.ok(unknown > wrong / 2, `${unknown} ms and ${wrong} ms`);
});

// ── H. Operations ──────────────────────────────────────────────────────────────────────────────────────────

incident(
  'Tables do not grow without limit: a sweep takes what is over, a small batch at a time',
  async (world) => {
    for (let i = 0; i < 30; i++) await world.machineToken();
    const { refresh_token } = await world.grant();
    world.clock.advance(3600);
    const batches: number[] = [];
    do batches.push(await world.storage.sweep(10));
    while (batches.at(-1) !== 0);
    assert.ok(batches.length >= 4, `${batches.join(', ')} rows`);
    assert.ok(
      batches.every((rows) => rows <= 5 * 10),
      'ten rows of each kind at most',
    );
    assert.deepEqual(await world.alive(refresh_token), [true]);
  },
);

incident(
  'Rows that the detection of reuse needs are not swept before the refresh token has expired',
  async (world) => {
    const first = await world.grant();
    world.clock.advance(24 * 60 * 60);
    const second = await world.rotated(first.refresh_token);
    const fortnight = 14 * 24 * 60 * 60;
    world.clock.advance(fortnight - 24 * 60 * 60 - 1);
    while ((await world.storage.sweep(1000)) > 0);
    assert.deepEqual(await world.alive(second.refresh_token), [true]);
    assert.deepEqual(await world.refresh(first.refresh_token), REFRESH_REFUSED);
    assert.equal(world.events.at(-2)?.type, 'refresh_token_reused');
    assert.deepEqual(await world.alive(second.refresh_token), [false]);
  },
);

test('A look-up finds its rows by an index, however many there are', (t) => {
  const { database } = sqliteInFile(t);
  const plans = Object.entries(TOKENS_SQL).map(([name, statement]) => {
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all();
    return { name, steps: steps.map(({ detail }) => String(detail)) };
  });
  assert.ok(plans.length >= 5);
  for (const { name, steps } of plans) {
    assert.ok(
      steps.some((step) => step.startsWith('SEARCH')),
      `${name}: ${steps.join('; ')}`,
    );
    assert.equal(
      steps.some((step) => step.startsWith('SCAN')),
      false,
      `${name}: ${steps.join('; ')}`,
    );
  }
});

test('A read-only introspection does not write to the database', async (t) => {
  const { database, place } = sqliteInFile(t);
  const version = () => Number(database.prepare('PRAGMA data_version').get()?.data_version);
  const world = await openWorld(t, {}, place);
  const { access_token, refresh_token } = await world.grant();
  await world.introspect(access_token, 'api');
  await world.server.flush(); // the last uses of both secrets
  const before = version();
  for (const token of [access_token, refresh_token, 'x', withBrokenSignature(access_token)]) {
    for (const hint of [undefined, 'auth_code']) await world.introspect(token, 'api', hint);
    await world.userInfo(token);
  }
  await world.server.flush();
  assert.equal(version(), before, 'another connection sees that nothing was written');
  await world.revoke(access_token);
  assert.notEqual(version(), before, 'and would have seen it');
});

function isActive({ status, body }: TestResponse): boolean {
  assert.equal(status, 200, body);
  return JSON.parse(body).active;
}

/** All endpoints refuse the tokens. */
async function assertOver(world: World, accessToken: string, refreshToken: string): Promise<void> {
  assert.deepEqual(await world.introspect(accessToken), INACTIVE);
  assert.deepEqual(await world.introspect(refreshToken), INACTIVE);
  assert.equal((await world.userInfo(accessToken)).status, 401);
  assert.deepEqual(await world.refresh(refreshToken), REFRESH_REFUSED);
}

async function lastReasonOf(world: World, token: string): Promise<string | undefined> {
  await world.introspect(token);
  return world.lastReason;
}

async function lastSequence({ storage }: World): Promise<number> {
  return (await storage.eventsAfter(0, 1000)).at(-1)?.sequence ?? 0;
}

/** The record of a token that a test has signed, as if the server had issued it. */
async function recordOf(token: string, id: string, { clock }: World): Promise<NewToken> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)));
  const expiresAt = clock.seconds + 3600;
  return {
    id,
    kind: 'access_token',
    digest: hash.toBase64({ alphabet: 'base64url', omitPadding: true }),
    clientId: 'web',
    scopes: ['openid'],
    tokenType: 'Bearer',
    subject: 'alice',
    issuedAtMs: clock.nowMs,
    expiresAt,
    keepUntil: expiresAt,
  };
}

function changedAt(text: string, index: number): string {
  return text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1);
}

/** application/x-www-form-urlencoded, as RFC 6749 §2.3.1 requires for both parts of Basic credentials. */
function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice('x='.length);
}

function openedTo(response: TestResponse): string | undefined {
  return response.headers['access-control-allow-origin'];
}

/** Milliseconds of the fastest of several runs. */
function fastest(run: () => unknown): number {
  const times = Array.from({ length: 10 }, () => {
    const startedAt = performance.now();
    run();
    return performance.now() - startedAt;
  });
  return Math.min(...times);
}

async function fastestOf(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 15; i++) {
    const startedAt = performance.now();
    await run();
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

/** An SQLite store with a second connection to its file. */
function sqliteInFile(t: TestContext): { database: DatabaseSync; place: Place } {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-test-'));
  const path = join(folder, 'grantd.db');
  const issuer = 'https://as.example';
  openSqliteStorage({ path, issuer }).close();
  const database = new DatabaseSync(path);
  t.after(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const store: StoreKind = {
    name: 'SQLite in a file',
    open(_, clock) {
      const storage = openSqliteStorage({ path, issuer, clock });
      return { storage, dispose: async () => storage.close() };
    },
  };
  return { database, place: { transport: FUNCTION, store } };
}
