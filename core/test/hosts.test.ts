// Long: what records of hosts may look like, with one example each.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  AuthorizationServer,
  type AuthorizingStorage,
  ConfigurationError,
  type JwtService,
  type NewClient,
  SIGNING_ALGORITHMS,
  sweep,
  type TokenKind,
  type TokenRecord,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { decodeJwt } from 'jose';
import { StorageFault } from '../src/http/errors.ts';
import { hostStorage } from '../src/storage/host_storage.ts';
import { changeClient } from './harness/client_change.ts';
import { bearerError, INACTIVE, OUTAGE, REFRESH_REFUSED } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { forgedWithStolenKey } from './harness/stolen_key.ts';
import { basic, CLIENTS, ISSUER, openWorld, SECRET, type World, type WorldOptions } from './harness/world.ts';

/** The world's storage as a host's, with lookups that return other objects than plain records. */
async function hostOf(
  world: World,
  present: (record: TokenRecord) => unknown,
  options: WorldOptions = {},
): Promise<World> {
  const { tokens } = world.storage;
  const find = (look: typeof tokens.getByAccessToken) => async (id: string) => {
    const record = await look(id);
    return record && JSON.parse('{}', () => present(record));
  };
  const { getByAccessToken, getByRefreshToken } = tokens;
  const storage = {
    ...world.storage,
    tokens: {
      ...tokens,
      getByAccessToken: find(getByAccessToken),
      getByRefreshToken: find(getByRefreshToken),
    },
  };
  return secondServer(world, options, storage);
}

test('grantd §10.5 a revoked record that is an instance of a class with getters is dead', async (t) => {
  const world = await openWorld(t);
  const { access_token, refresh_token } = await world.grant();
  const host = await hostOf(world, (record) => rowOf(record));
  await world.server.revokeToken(refresh_token);
  for (const token of [access_token, refresh_token]) {
    assert.deepEqual(await host.server.introspectToken(token), { active: false });
  }
});

test('grantd §10.5 null members are absence, also in the state of a record', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const withNulls = (record: TokenRecord) => ({
    ...record,
    revokedAtMs: null,
    standing: { client: { ...record.standing?.client, disabledAtMs: null, raisedAtMs: null }, grant: null },
  });
  const host = await hostOf(world, withNulls);
  assert.equal((await host.server.introspectToken(access_token)).active, true);
});

test('grantd §2.4 a JWT is dead from the second of its own exp, even if its record lives longer', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const host = await hostOf(world, (record) => ({ ...record, expiresAt: record.expiresAt + 60 }));
  const { exp = 0 } = decodeJwt(access_token);
  world.clock.nowMs = exp * 1000 - 1;
  assert.equal((await host.server.introspectToken(access_token)).active, true);
  world.clock.nowMs = exp * 1000;
  assert.deepEqual(await host.server.introspectToken(access_token), { active: false });
});

test('grantd §10.4 a rotated refresh token is dead, even if getSubjectState calls its user active', async (t) => {
  const world = await openWorld(t, { getSubjectState: () => 'active' });
  const { refresh_token } = await world.grant();
  const next = await world.rotated(refresh_token);
  assert.deepEqual(await world.alive(refresh_token, next.refresh_token), [false, true]);
});

test('grantd §10.4 getSubjectState counts, also if a host puts its own clients over a store of the library', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const { clients } = world.storage;
  const own = { ...world.storage, clients: { ...clients, get: (id: string) => clients.get(id) } };
  const states = { alice: 'active' as 'active' | 'disabled' };
  const host = await secondServer(world, { getSubjectState: () => states.alice }, own);
  assert.equal((await host.server.introspectToken(access_token)).active, true);
  states.alice = 'disabled';
  assert.deepEqual(await host.server.introspectToken(access_token), { active: false });
  assert.equal(host.lastReason, 'subject_disabled');
});

test('grantd §10.5 a host’s record without a digest is accepted by its identifier', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const host = await hostOf(world, ({ digest: _, ...record }) => record);
  assert.equal((await host.server.introspectToken(access_token)).active, true);
});

test('grantd §10.3 each kind of token is revoked by the method of its own kind', async (t) => {
  const world = await openWorld(t);
  const { access_token, refresh_token } = await world.grant();
  for (const isAccess of [true, false]) {
    const tokens = {
      ...world.storage.tokens,
      isAccessTokenRevoked: async () => isAccess,
      isRefreshTokenRevoked: async () => !isAccess,
    };
    const host = await secondServer(world, {}, { ...world.storage, tokens });
    assert.deepEqual(await host.alive(access_token, refresh_token), [!isAccess, isAccess]);
  }
});

test('grantd §2.4 a JWT is live from the millisecond of its nbf', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const token = await world.machineToken();
  const nbf = world.clock.seconds + 10;
  const host = await hostOf(world, (record) => ({ ...record, claims: { ...record.claims, nbf } }));
  world.clock.nowMs = nbf * 1000 - 1;
  assert.deepEqual(await host.server.introspectToken(token), { active: false });
  world.clock.nowMs = nbf * 1000;
  assert.equal((await host.server.introspectToken(token)).active, true);
});

test('grantd §5.4 the subject of an opaque client token without stored claims is the client', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const token = await world.machineToken();
  const host = await hostOf(world, ({ claims: _, ...record }) => record);
  assert.equal((await host.server.introspectToken(token)).sub, 'machine');
});

test('grantd §10.2 a store without a current key, although it was initialized, is a fault that names it', async (t) => {
  const world = await openWorld(t);
  const keys = { ...world.storage.keys, currentKeyId: async () => undefined };
  const host = await secondServer(world, {}, { ...world.storage, keys });
  const { status } = await host.post('/token', { grant_type: 'client_credentials' }, 'machine');
  assert.equal(status, 500);
  assert.match(inspect(host.events), /storage keeps no RS256 key/);
});

test('grantd §10.5 a record without a kind is of the kind that it was found by', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const { tokens } = world.storage;
  const { kind: _, ...record } = (await tokens.getByRefreshToken(idOf(refresh_token))) ?? {};
  const storage = {
    ...world.storage,
    tokens: {
      ...tokens,
      getByRefreshToken: () => JSON.parse(JSON.stringify(record)),
      isRefreshTokenRevoked: () => true,
    },
  };
  const host = await secondServer(world, {}, storage);
  assert.deepEqual(await host.server.introspectToken(refresh_token), { active: false });
});

test('grantd §10.5 a host gets its own object back, with what it knows besides', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const { tokens } = world.storage;
  const revoked = new WeakSet<object>();
  const storage = {
    ...world.storage,
    tokens: {
      ...tokens,
      getByRefreshToken: async (id: string) => {
        const record = { ...(await tokens.getByRefreshToken(id)) };
        revoked.add(record);
        return JSON.parse('{}', () => record);
      },
      isRefreshTokenRevoked: (record: TokenRecord) => revoked.has(record),
    },
  };
  const host = await secondServer(world, {}, storage);
  assert.deepEqual(await host.server.introspectToken(refresh_token), { active: false });
});

test('grantd §10.2 a record without a member that the contract requires is a fault, not a response', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const host = await hostOf(world, (record) => ({ ...record, scopes: null }));
  const response = await host.introspect(access_token);
  assert.equal(response.status, 503);
});

/** A JWT that the host signed with the server's key, with a record of the usual lifetime. */
async function hostsOwnJwt(
  world: World,
  claims: Readonly<Record<string, unknown>>,
  kind: TokenKind = 'access_token',
): Promise<string> {
  const jti = crypto.randomUUID();
  const typ = kind === 'access_token' ? 'at+jwt' : 'rt+jwt';
  const token = await forgedWithStolenKey(world, { jti, ...claims }, { typ });
  const digest = createHash('sha256').update(token).digest('base64url');
  const expiresAt = world.clock.seconds + 3600;
  const record = {
    ...{ id: jti, digest, kind, clientId: 'web' },
    ...(kind === 'access_token' && { tokenType: 'Bearer' }),
    ...{ subject: 'alice', scopes: ['openid'], issuedAtMs: world.clock.read(), expiresAt },
  };
  await world.storage.tokens.issue([{ ...record, keepUntil: expiresAt }], {});
  return token;
}

test('grantd §2.4 a JWT past its own exp is refused everywhere, though its record lives on', async (t) => {
  const world = await openWorld(t);
  const token = await hostsOwnJwt(world, { exp: world.clock.seconds + 60 });
  assert.equal((await world.userInfo(token)).status, 200);
  world.clock.advance(60);
  const expired = bearerError(401, 'invalid_token', 'the access token is expired');
  assert.deepEqual(await world.userInfo(token), expired);
  assert.deepEqual(await world.server.introspectToken(token), { active: false });
  assert.equal(world.lastReason, 'expired');
});

test('grantd §7.3 UserInfo refuses an access token JWT without exp as malformed', async (t) => {
  const world = await openWorld(t);
  const token = await hostsOwnJwt(world, { exp: undefined });
  const malformed = bearerError(401, 'invalid_token', 'the access token is malformed');
  assert.deepEqual(await world.userInfo(token), malformed);
  await assert.rejects(world.server.userInfoOf(token), { code: 'invalid_token' });
  assert.deepEqual(await world.userInfo(await hostsOwnJwt(world, { exp: 'tomorrow' })), {
    ...malformed,
    ...bearerError(401, 'invalid_token', 'the access token is not valid'),
  });
});

for (const sub of [undefined, null, 7]) {
  test(`grantd §2.4 a JWT about a user whose sub is ${sub} is refused everywhere`, async (t) => {
    const world = await openWorld(t);
    const access = await hostsOwnJwt(world, { sub });
    const refresh = await hostsOwnJwt(world, { sub }, 'refresh_token');
    const invalid = bearerError(401, 'invalid_token', 'the access token is not valid');
    assert.deepEqual(await world.userInfo(access), invalid);
    assert.equal(world.lastReason, 'sub_missing');
    await assert.rejects(world.server.userInfoOf(access), { code: 'invalid_token', reason: 'sub_missing' });
    assert.deepEqual(await world.refresh(refresh), REFRESH_REFUSED);
    assert.equal(world.lastReason, 'sub_missing');
    for (const token of [access, refresh]) assert.deepEqual(await world.introspect(token), INACTIVE);
  });
}

test('OpenID Connect Core §8 a stored sub that is null does not become the server’s own identifier', async (t) => {
  const pairwiseSecret = 'the secret of pairwise subjects, which never changes';
  const oidc = { getUserClaims: () => ({ name: 'Alice' }) };
  const world = await openWorld(t, { accessTokenFormat: 'opaque', pairwiseSecret });
  const pairwise: NewClient = { ...CLIENTS.web, metadata: { subject_type: 'pairwise' } };
  await changeClient(world, 'web', pairwise);
  const { access_token } = await world.grant();
  const sub = await world.server.subjectIdentifier(pairwise, 'alice');
  const host = await hostOf(
    world,
    ({ claims, ...record }) => ({ ...record, claims: { ...claims, sub: null } }),
    { oidc, pairwiseSecret },
  );
  assert.deepEqual(await host.server.userInfoOf(access_token), { name: 'Alice', sub });
  assert.equal((await host.server.introspectToken(access_token)).sub, sub);
});

for (const [what, found, reason] of [
  ['no longer finds', () => undefined, 'client_gone'],
  ['has disabled', (client: object) => ({ ...client, disabledAtMs: 1 }), 'client_disabled'],
] as const) {
  for (const [over, hasStanding] of [
    ['', false],
    [', over a store of the library', true],
  ] as const) {
    test(`a live token of a client that the host ${what} is dead everywhere${over}`, async (t) => {
      const world = await openWorld(t);
      const { access_token, refresh_token } = await world.grant();
      const { clients, tokens } = world.storage;
      const withoutStanding = (look: typeof tokens.getByAccessToken) => async (id: string) => {
        const { standing: _, ...record } = (await look(id)) ?? assert.fail();
        return record;
      };
      const storage = {
        ...world.storage,
        clients: {
          ...clients,
          get: async (id: string) => {
            const client = await clients.get(id);
            return id === 'web' && client ? found(client) : client;
          },
        },
        ...(!hasStanding && {
          tokens: {
            ...tokens,
            joinedClients: undefined,
            getByAccessToken: withoutStanding(tokens.getByAccessToken),
            getByRefreshToken: withoutStanding(tokens.getByRefreshToken),
          },
        }),
      };
      const oidc = { getUserClaims: () => ({ name: 'Alice' }) };
      const host = await secondServer(
        world,
        { oidc },
        JSON.parse('{}', () => storage),
      );
      for (const token of [access_token, refresh_token])
        assert.deepEqual(await host.introspect(token), INACTIVE);
      const revoked = bearerError(401, 'invalid_token', 'the access token is revoked');
      assert.deepEqual(await host.userInfo(access_token), revoked);
      assert.equal(host.lastReason, reason);
      await assert.rejects(host.server.userInfoOf(access_token), { code: 'invalid_token', reason });
    });
  }
}

test('a record with the state of its client needs no further lookup', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const { clients } = world.storage;
  const asked: string[] = [];
  const get = (id: string) => {
    asked.push(id);
    return clients.get(id);
  };
  const counted = { ...clients, get };
  const tokens = { ...world.storage.tokens, joinedClients: counted };
  const host = await secondServer(world, {}, { ...world.storage, clients: counted, tokens });
  assert.equal((await host.introspect(access_token, 'api')).status, 200);
  assert.deepEqual(asked, ['api']);
});

for (const [name, values] of Object.entries({
  exp: ['4000000000', 4_000_000_000.5, Number.NaN, 4_000_000_000n, new Date(), true],
  iat: ['1', Number.POSITIVE_INFINITY],
  nbf: ['1', {}],
  username: [7, ['alice'], {}, true],
  sub: [7, {}],
  iss: [7, new URL(ISSUER)],
  jti: [7],
  aud: [7, {}, [ISSUER, 7], [null]],
  sid: [7],
  auth_time: ['1', 1.5],
  acr: [2],
  amr: ['pwd', [7]],
})) {
  for (const value of values) {
    test(`grantd §10.2 a record whose claim ${name} is ${inspect(value)} is a fault, not a response`, async (t) => {
      const world = await openWorld(t, { accessTokenFormat: 'opaque' });
      const { access_token } = await world.grant();
      const host = await hostOf(world, ({ claims, ...record }) => ({
        ...record,
        claims: { ...claims, [name]: value },
      }));
      assert.deepEqual(await host.introspect(access_token), OUTAGE);
      const event = host.events.at(-1);
      assert.ok(event?.type === 'refused' && event.cause instanceof TypeError);
      assert.ok(event.cause.message.startsWith(`claims.${name} in the record of an access token: expected `));
    });
  }
}

test('grantd §10.2 a record whose claims are a text is a fault, not a response', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const { access_token } = await world.grant();
  const host = await hostOf(world, ({ claims, ...record }) => ({
    ...record,
    claims: JSON.stringify(claims),
  }));
  assert.deepEqual(await host.introspect(access_token), OUTAGE);
});

test('grantd §10.5 a claim that is null is absent from the response', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const { access_token } = await world.grant();
  const host = await hostOf(world, ({ claims, ...record }) => ({
    ...record,
    claims: { ...claims, username: null, nbf: null },
  }));
  const { username: _, ...expected } = JSON.parse((await world.introspect(access_token)).body);
  assert.deepEqual(JSON.parse((await host.introspect(access_token)).body), expected);
});

for (const claims of [{ username: 7 }, { sub: 7 }, { sub: undefined }, { sub: null }]) {
  test(`grantd §10.2 a code with the claim ${inspect(claims)} is a fault and leads to no tokens`, async (t) => {
    const world = await openWorld(t);
    const code = await world.code();
    const { authorizationCodes } = world.storage;
    const get = async (id: string) => {
      const record = await authorizationCodes.get(id);
      return JSON.parse('{}', () => record && { ...record, claims: { ...record.claims, ...claims } });
    };
    const host = await secondServer(
      world,
      {},
      { ...world.storage, authorizationCodes: { ...authorizationCodes, get } },
    );
    assert.equal((await host.redeem(code)).status, 503);
    assert.equal((await world.redeem(code)).status, 200);
  });
}

test('grantd §10.2 a store that does not say whether a token is revoked is a fault', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const tokens = { ...world.storage.tokens, isRefreshTokenRevoked: () => JSON.parse('null') };
  const host = await secondServer(world, {}, { ...world.storage, tokens });
  const response = await host.introspect(refresh_token);
  assert.deepEqual([response.status, response.headers['retry-after']], [503, '1']);
});

test('grantd §10.2 a store that does not say whether it stored tokens is a fault', async (t) => {
  const world = await openWorld(t);
  const code = await world.code();
  const nothing = () => JSON.parse('null');
  const storage = {
    ...world.storage,
    tokens: { ...world.storage.tokens, issue: nothing },
    authorizationCodes: { ...world.storage.authorizationCodes, redeem: nothing },
  };
  const host = await secondServer(world, {}, storage);
  assert.equal((await host.post('/token', { grant_type: 'client_credentials' }, 'machine')).status, 400);
  assert.equal((await host.redeem(code)).status, 400);
});

test('grantd §10.5 an opaque token whose record keeps no claims still has a subject', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const { access_token } = await world.grant();
  const { getByAccessToken } = world.storage.tokens;
  const storage = {
    ...world.storage,
    tokens: {
      ...world.storage.tokens,
      getByAccessToken: async (id: string) => {
        const { claims: _, ...record } = (await getByAccessToken(id)) ?? {};
        return JSON.parse(JSON.stringify(record));
      },
    },
  };
  const oidc = { getUserClaims: () => ({ name: 'Alice Liddell' }) };
  const host = await secondServer(world, { oidc }, storage);
  assert.deepEqual(await host.server.userInfoOf(access_token), { name: 'Alice Liddell', sub: 'alice' });
  const iat = world.clock.seconds;
  const known = {
    active: true,
    scope: 'openid profile email read write',
    client_id: 'web',
    token_type: 'Bearer',
  };
  const result = { ...known, exp: iat + 3600, iat, sub: 'alice', iss: ISSUER };
  assert.deepEqual(await host.server.introspectToken(access_token), result);

  const withoutIssuance = {
    ...storage,
    tokens: {
      ...storage.tokens,
      getByAccessToken: async (id: string) => {
        const { issuedAtMs: _, ...record } = await storage.tokens.getByAccessToken(id);
        return record;
      },
    },
  };
  const forgetful = await secondServer(world, { oidc }, withoutIssuance);
  const { iat: _, ...rest } = result;
  assert.deepEqual(await forgetful.server.introspectToken(access_token), rest);
});

test('grantd §3.4 a body over 64 KiB is 413 at UserInfo, though the header has a good token', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const headers = {
    authorization: `Bearer ${access_token}`,
    'content-type': 'application/x-www-form-urlencoded',
  };
  const response = await world.send({ method: 'POST', path: '/userinfo', headers, body: 'x'.repeat(70_000) });
  assert.equal(response.status, 413);
});

test('RFC 6749 §4.1.2 a client whose tokens were all revoked while the user was asked gets no code', async (t) => {
  const world = await openWorld(t);
  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: CLIENTS.web.redirectUris[0],
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    scope: 'read',
  });
  const request = { method: 'GET', url: `/authorize?${query}`, headers: {} };
  const authorization = await world.server.authorization.validate(request);
  await world.storage.revokeAll({ principal: 'client', id: 'web' });
  await assert.rejects(
    world.server.authorization.complete(authorization, { subject: 'alice' }),
    /access_denied/,
  );
  assert.equal(world.lastReason, 'issuance_overtaken');
});

test('grantd §3.6 if storage fails after the response is ready, the response stays, but the other origin cannot read it', async (t) => {
  const world = await openWorld(t);
  const code = await world.code('alice', 'spa');
  let asked = 0;
  const { clients } = world.storage;
  const get = (id: string) => {
    asked += 1;
    if (asked > 1) throw new Error('the connection was lost');
    return clients.get(id);
  };
  const host = await secondServer(world, {}, { ...world.storage, clients: { ...clients, get } });
  const form = {
    grant_type: 'authorization_code',
    code,
    client_id: 'spa',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    redirect_uri: CLIENTS.spa.redirectUris[0],
  };
  const response = await host.post('/token', form, null, { origin: 'https://spa.example' });
  assert.deepEqual([response.status, response.headers.vary], [200, 'Origin']);
  assert.equal(response.headers['access-control-allow-origin'], undefined);
});

test('grantd §8.6 an observer that throws changes no response', async (t) => {
  const messages: unknown[] = [];
  t.mock.method(console, 'error', (...texts: unknown[]) => messages.push(texts));
  const world = await openWorld(t, {
    onEvent: () => {
      throw new Error('the log is full');
    },
  });
  assert.deepEqual(await world.server.introspectToken('x'), { active: false });
  assert.equal(messages.length, 1);
});

test('grantd §9.1 a host that listens to no events finds faults on console.error', async (t) => {
  const messages: unknown[][] = [];
  t.mock.method(console, 'error', (...texts: unknown[]) => messages.push(texts));
  const { storage, server } = await openWorld(t);
  const cause = new Error('the disk is gone');
  const get = () => Promise.reject(cause);
  const broken = new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    storage: { ...storage, clients: { ...storage.clients, get } },
  });
  assert.equal(server.issuer, broken.issuer);
  const headers = { authorization: basic('api'), 'content-type': 'application/x-www-form-urlencoded' };
  await assert.rejects(
    broken.introspect({ method: 'POST', url: '/token/introspect', headers, body: 'token=x' }),
  );
  assert.deepEqual(messages, [['grantd', 'storage_unavailable', cause]]);
});

test('grantd §1.2 a host that asks for itself is held to no policy, a client that it names is', async (t) => {
  const world = await openWorld(t, { introspectionPolicy: 'audience' });
  const token = await world.machineToken();
  const caller = await world.storage.clients.get('web');
  assert.ok(caller);
  assert.equal((await world.server.introspectToken(token)).active, true);
  assert.deepEqual(await world.server.introspectToken(token, { caller }), { active: false });
});

test('RFC 7517 §5 the keys are published before the first token is signed', async () => {
  const published = async (storage: AuthorizingStorage) => {
    const server = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage });
    const { body } = await server.jwks({ method: 'GET', url: '/jwks', headers: {} });
    return JSON.parse(body).keys.map((key: { alg: string }) => key.alg);
  };
  assert.deepEqual(await published(memoryStorage()), ['RS256', 'RS256'], 'a current and a next key');

  const { clients, ...storage } = memoryStorage();
  const { get, hasRedirectOrigin } = clients;
  const algorithms: readonly string[] = await published({ ...storage, clients: { get, hasRedirectOrigin } });
  const twice = SIGNING_ALGORITHMS.flatMap((algorithm) => [algorithm, algorithm]);
  assert.deepEqual(algorithms.toSorted(), twice.toSorted(), 'clients in a table of the host may use any');
});

test('RFC 8017 §8.2 a JwtService that cannot sign what the options need is refused', async (t) => {
  const { storage } = await openWorld(t);
  const unused = () => Promise.reject(new Error('unused'));
  const jwtService: JwtService = { algorithms: ['ES256'], sign: unused, verify: unused, publicKeys: unused };
  const open = () => new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage, jwtService });
  assert.throws(open, ConfigurationError);
});

test('a sweep continues until nothing is left, and reports each batch', async (t) => {
  const world = await openWorld(t);
  for (let count = 0; count < 5; count += 1) await world.machineToken();
  world.clock.advance(2 * 60 * 60);
  const batches: number[] = [];
  const swept = await sweep(world.storage, { limit: 2, pauseMs: 0, onBatch: (rows) => batches.push(rows) });
  assert.deepEqual([swept, batches.length], [5, 3]);
});

test('a sweep that is stopped during its pause ends at once, and returns what it has swept', {
  timeout: 20_000,
}, async (t) => {
  const world = await openWorld(t);
  for (let count = 0; count < 5; count += 1) await world.machineToken();
  world.clock.advance(2 * 60 * 60);
  for (const tellLater of [
    queueMicrotask,
    (tell: () => void) => setTimeout(tell, 5),
    (tell: () => void) => tell(),
  ]) {
    const stop = new AbortController();
    const onBatch = () => tellLater(() => stop.abort());
    const swept = await sweep(world.storage, { limit: 1, pauseMs: 3_600_000, signal: stop.signal, onBatch });
    assert.equal(swept, 1);
  }
  assert.equal(await sweep(world.storage, { signal: AbortSignal.abort() }), 0);
});

test('grantd §10.2 a host may return null for what a record does not have', async (t) => {
  const world = await openWorld(t);
  const { tokens } = world.storage;
  const none = {
    revokedAtMs: null,
    supersededAtMs: null,
    successorId: null,
    notBeforeMs: null,
    sessionId: null,
  };
  const withNulls = async (id: string) =>
    JSON.parse(JSON.stringify({ ...none, ...(await tokens.getByRefreshToken(id)) }));
  const storage = { ...world.storage, tokens: { ...tokens, getByRefreshToken: withNulls } };
  const { refresh_token } = await world.grant();
  const { server } = await secondServer(world, {}, storage);
  assert.equal((await server.introspectToken(refresh_token)).active, true);
});

test('grantd §10.1 a host without the optional parts of storage serves what needs none of them', async (t) => {
  const world = await openWorld(t);
  const { clients, tokens, authorizationCodes, keys } = world.storage;
  const { get, hasRedirectOrigin } = clients;
  const storage = { clients: { get, hasRedirectOrigin }, tokens, authorizationCodes, keys };
  const host = await secondServer(
    world,
    { oidc: { getUserClaims: () => ({}) } },
    JSON.parse('{}', () => storage),
  );
  const { access_token, refresh_token } = await host.grant();
  await host.rotated(refresh_token);
  assert.deepEqual(await host.alive(access_token), [true]);
  const readable = hostStorage(storage);
  assert.deepEqual([readable.oneTimeIdentifiers, readable.pending], [undefined, undefined]);
  assert.equal(readable.clients.findApis, undefined);
});

test('grantd §10.5 what a host returns for pending rows, identifiers and resources is read like its records', async (t) => {
  const { storage, clock } = await openWorld(t);
  const kind = 'pushed_request';
  const row = {
    kind,
    id: 'one',
    clientId: 'web',
    data: { scope: 'read' },
    version: 0,
    expiresAt: clock.seconds,
  };
  const host = hostStorage({
    ...storage,
    clients: { ...storage.clients, findApis: () => Promise.reject(new Error('the disk is gone')) },
    oneTimeIdentifiers: {
      take() {
        throw new Error('the disk is gone');
      },
    },
    pending: {
      ...storage.pending,
      get: (_, id) => JSON.parse('{}', () => ({ otherId: null, ...row, [id]: null })),
      add: () => JSON.parse('1'),
    },
  });
  const { oneTimeIdentifiers, pending } = host;
  assert.ok(oneTimeIdentifiers && pending);
  assert.deepEqual(await pending.get(kind, 'unused'), row);
  await assert.rejects(
    async () => pending.get(kind, 'clientId'),
    (error) => causeOf(error) === 'the record of a pending row has no clientId',
  );
  await assert.rejects(
    async () => pending.add({ ...row, kind }),
    (error) => causeOf(error) === 'storage.pending.add: expected true or false, found the number 1',
  );
  assert.throws(
    () => oneTimeIdentifiers.take('one', 1),
    (error) => causeOf(error) === 'the disk is gone',
  );
  await assert.rejects(
    async () => host.clients.findApis?.({ resources: ['https://api.example'], scopes: [] }),
    (error) => causeOf(error) === 'the disk is gone',
  );
  const none = hostStorage({
    ...storage,
    pending: { ...storage.pending, get: () => null },
  });
  assert.equal(await none.pending?.get(kind, 'one'), undefined);
});

test('grantd §10.4 getUserClaims may be a method that needs its object', async (t) => {
  class Directory {
    readonly names = new Map([['alice', 'Alice Liddell']]);
    getUserClaims(subject: string) {
      return { name: this.names.get(subject) };
    }
  }
  const world = await openWorld(t, { oidc: new Directory() });
  const { access_token } = await world.grant();
  assert.deepEqual(await world.server.userInfoOf(access_token), { name: 'Alice Liddell', sub: 'alice' });
});

/** The original cause of a storage fault. */
function causeOf(error: unknown): string | undefined {
  return error instanceof StorageFault && error.cause instanceof Error ? error.cause.message : undefined;
}

/** An object like an ORM's: null for absent members, and getters on its prototype for the others. */
function rowOf(record: TokenRecord): unknown {
  class Row {
    readonly note = null;
  }
  for (const name of Object.keys(record)) {
    Object.defineProperty(Row.prototype, name, { get: () => Reflect.get(record, name) });
  }
  return new Row();
}

/** The unverified `jti` of a JWT. */
function idOf(token: string): string {
  return JSON.parse(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))).jti;
}

test('RFC 6749 §2.3 a client record with an unknown authentication method is refused like a wrong secret', async (t) => {
  const world = await openWorld(t);
  const get: typeof world.storage.clients.get = async (id) => {
    const client = await world.storage.clients.get(id);
    return client && { ...client, metadata: { token_endpoint_auth_method: 'x_unknown' as 'none' } };
  };
  const clients = { ...world.storage.clients, get };
  const { server } = await secondServer(world, {}, { ...world.storage, clients });
  const headers = { authorization: basic('api'), 'content-type': 'application/x-www-form-urlencoded' };
  for (const path of ['introspect', 'revoke'] as const) {
    const request = { method: 'POST', url: `/token/${path}`, headers, body: 'token=x' };
    await assert.rejects(server[path](request), { code: 'invalid_client', status: 401 });
  }
});
