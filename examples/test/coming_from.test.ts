// Only introspection, revocation and UserInfo of grantd, over the tables and tokens of other libraries.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuthorizationServer, type AuthorizationServerOptions } from '@grantd/core';
import { mount } from '@grantd/core/fetch';
import { decodeJwt } from 'jose';
import { basic, post } from './asking.ts';
import { betterAuthServer } from './coming_from/better_auth.ts';
import { jmondiServer } from './coming_from/jmondi.ts';
import { nodeOauthServer } from './coming_from/node_oauth.ts';
import { oidcProviderServer } from './coming_from/oidc_provider.ts';
import type { Credentials, OtherServer } from './coming_from/other_server.ts';
import { OLD_SECRET } from './migrating.ts';
import { started } from './started.ts';

const SERVERS: Readonly<Record<string, () => Promise<OtherServer>>> = {
  '@jmondi/oauth2-server with JWTs': () => jmondiServer(),
  '@jmondi/oauth2-server with opaque refresh tokens': () => jmondiServer({ useOpaqueRefreshTokens: true }),
  'oidc-provider': oidcProviderServer,
  '@node-oauth/oauth2-server with opaque tokens': () => nodeOauthServer(false),
  '@node-oauth/oauth2-server with JWTs': () => nodeOauthServer(true),
  'better-auth': betterAuthServer,
};

/** An opaque token may begin like a JWT too, but it has no dots. */
const isJwt = (token: string) => token.split('.').length === 3;

/** grantd, with the storage of the mapping alone. */
function grantdOver(
  server: OtherServer,
  {
    insecureAllowGenericJwts = server.hasGenericJwts ?? false,
    onEvent,
  }: Pick<AuthorizationServerOptions, 'insecureAllowGenericJwts' | 'onEvent'> = {},
) {
  const { issuer, storage, jwtService, subject } = server;
  const now = { ms: Date.now };
  const endpoints = mount(
    new AuthorizationServer({
      ...{ issuer, storage, insecureAllowGenericJwts },
      ...(jwtService && { jwtService }),
      ...(onEvent && { onEvent }),
      oidc: { getUserClaims: (sub) => (sub === subject ? { email: 'alice@example.com' } : undefined) },
      clock: () => now.ms(),
    }),
  );
  const ask = async (path: string, client: Credentials, token: string, more: object = {}) => {
    const response = await endpoints(
      new Request(issuer + path, {
        method: 'POST',
        headers: basic(client.id, client.secret),
        body: new URLSearchParams({ token, ...more }),
      }),
    );
    return { status: response.status, body: await response.text() };
  };
  const introspect = async (token: string, client = server.app): Promise<Record<string, unknown>> => {
    const { status, body } = await ask('/token/introspect', client, token);
    assert.equal(status, 200, body);
    return JSON.parse(body);
  };
  return {
    ask,
    introspect,
    isActive: async (token: string) => (await introspect(token)).active === true,
    revoke: (token: string, client = server.app) => ask('/token/revoke', client, token),
    async userInfo(token: string) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await endpoints(new Request(`${issuer}/userinfo`, { headers }));
      return { status: response.status, body: response.ok ? await response.json() : undefined };
    },
    later(seconds: number) {
      now.ms = () => Date.now() + seconds * 1000;
    },
  };
}

for (const [name, start] of Object.entries(SERVERS)) {
  test(`${name}: its tokens introspect as active, with what it issued`, async () => {
    await using server = await start();
    const { issue, issuer, app, other, subject, scope } = server;
    const { introspect } = grantdOver(server);
    const { access, refresh } = await issue();
    const nowSeconds = Date.now() / 1000;
    for (const [token, lifetime] of [
      [access, 3600],
      [refresh, 0],
    ] as const) {
      const { exp, iat, nbf, jti, token_type, ...told } = await introspect(token, other);
      // Refresh tokens of @jmondi/oauth2-server have no iss.
      const { iss = undefined } = isJwt(token) ? decodeJwt(token) : { iss: issuer };
      const expected = { active: true, scope, client_id: app.id, sub: subject };
      assert.deepEqual(told, { ...expected, ...(iss && { iss }) });
      assert.ok(iss === issuer || token === refresh);
      assert.equal(typeof exp, 'number');
      if (lifetime > 0) assert.ok(Math.abs(Number(exp) - lifetime - nowSeconds) < 60, String(exp));
      assert.ok(iat === undefined || Math.abs(Number(iat) - nowSeconds) < 60, String(iat));
    }
  });

  test(`${name}: UserInfo accepts the access token alone`, async () => {
    await using server = await start();
    const { userInfo } = grantdOver(server);
    const { access, refresh, idToken } = await server.issue();
    const claims = { sub: server.subject, email: 'alice@example.com' };
    assert.deepEqual(await userInfo(access), { status: 200, body: claims });
    const ids = [access, refresh, idToken ?? access].flatMap((token) =>
      isJwt(token) ? Object.values(decodeJwt(token)).map(String) : [],
    );
    for (const wrong of [refresh, idToken, `${access}x`, access.slice(1), ...ids])
      if (wrong) assert.equal((await userInfo(wrong)).status, 401, wrong);
  });

  test(`${name}: what grantd revokes is dead in both servers`, async () => {
    await using server = await start();
    const { isActive, revoke, userInfo } = grantdOver(server);
    for (const which of ['access', 'refresh'] as const) {
      const { access, refresh } = await server.issue();
      const spared = await server.issue();
      assert.deepEqual([await isActive(access), await isActive(refresh)], [true, true]);
      assert.equal(await server.accepts(access), true);
      assert.deepEqual(await revoke(which === 'access' ? access : refresh), { status: 200, body: '' });
      assert.deepEqual([await isActive(access), await isActive(refresh)], [false, false], which);
      assert.equal((await userInfo(access)).status, 401);
      assert.equal(await server.accepts(access), false);
      assert.deepEqual([await isActive(spared.access), await isActive(spared.refresh)], [true, true]);
      // Last, because better-auth ends all tokens of the user at the client when it receives a revoked one.
      assert.equal(await server.refresh(refresh), undefined);
    }
  });

  test(`${name}: what the library revokes or exchanges is dead at grantd`, async () => {
    await using server = await start();
    const { isActive, userInfo } = grantdOver(server);
    const revoked = await server.issue();
    await server.revoke(revoked.access);
    assert.equal(await isActive(revoked.access), false);
    assert.equal((await userInfo(revoked.access)).status, 401);

    const exchanged = await server.issue();
    const next = await server.refresh(exchanged.refresh);
    assert.ok(next);
    assert.equal(await isActive(next.access), true);
    assert.equal(await isActive(next.refresh), true);
    if (next.refresh !== exchanged.refresh) assert.equal(await isActive(exchanged.refresh), false);
  });

  test(`${name}: another client revokes nothing, and learns nothing`, async () => {
    await using server = await start();
    const { ask, isActive, revoke } = grantdOver(server);
    const { access, refresh } = await server.issue();
    for (const token of [access, refresh, 'no token'])
      assert.deepEqual(await revoke(token, server.other), { status: 200, body: '' });
    assert.deepEqual([await isActive(access), await isActive(refresh)], [true, true]);
    assert.equal(await server.accepts(access), true);

    const wrong = [
      { ...server.app, secret: server.other.secret },
      { ...server.app, secret: '' },
      { id: 'unknown', secret: server.app.secret },
    ];
    for (const client of wrong)
      for (const path of ['/token/introspect', '/token/revoke'])
        assert.equal((await ask(path, client, access)).status, 401, JSON.stringify(client));
    assert.equal(await isActive(access), true);
  });

  test(`${name}: an expired access token is inactive, and still revokes its refresh token`, async () => {
    await using server = await start();
    const { introspect, isActive, later, revoke, userInfo } = grantdOver(server);
    const { access, refresh } = await server.issue();
    const { exp } = await introspect(access);
    later(Number(exp) - Date.now() / 1000 + 1);
    assert.deepEqual([await isActive(access), await isActive(refresh)], [false, true]);
    assert.equal((await userInfo(access)).status, 401);
    await revoke(access);
    assert.equal(await isActive(refresh), false);
  });
}

for (const [name, start] of Object.entries(SERVERS).filter(([title]) => title.includes('JWTs'))) {
  test(`${name}: forged JWTs are inactive, and typ JWT needs insecureAllowGenericJwts`, async () => {
    await using server = await start();
    const { access } = await server.issue();
    const { isActive, revoke } = grantdOver(server);
    const [header = '', payload = '', signature = ''] = access.split('.');
    const stretched = { ...decodeJwt(access), exp: 4e9 };
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    const forged = [
      [header, Buffer.from(JSON.stringify(stretched)).toString('base64url'), signature],
      [none, payload, ''],
      [header, payload, Buffer.alloc(32).toString('base64url')],
    ].map((parts) => parts.join('.'));
    for (const token of forged) {
      assert.equal(await isActive(token), false);
      await revoke(token);
    }
    assert.equal(await isActive(access), true);
    assert.equal((await grantdOver(server).userInfo(access)).status, 200);
    assert.equal(
      (await grantdOver(server, { insecureAllowGenericJwts: false }).userInfo(access)).status,
      401,
    );
  });
}

for (const [name, start] of [
  ['oidc-provider', oidcProviderServer],
  ['better-auth', betterAuthServer],
] as const) {
  test(`${name}: tokens end with the session, and JWTs without a row are inactive`, async () => {
    await using server = await start();
    const { isActive, userInfo } = grantdOver(server);
    const { access } = await server.issue();
    const jwt = await server.issueJwt();
    assert.equal(decodeJwt(jwt).client_id, server.app.id);
    assert.equal(await isActive(jwt), false);
    assert.equal(await isActive(access), true);
    server.endSessions();
    assert.equal(await isActive(access), false);
    assert.equal((await userInfo(access)).status, 401);
    assert.equal(await server.accepts(access), false);
  });
}

for (const [name, start] of [
  ['oidc-provider', oidcProviderServer],
  ['better-auth', betterAuthServer],
] as const) {
  test(`${name}: UserInfo refuses a token that is bound to a key from a bearer`, async () => {
    await using server = await start();
    const { introspect, userInfo } = grantdOver(server);
    const { access } = await server.issue();
    server.bind();
    assert.equal((await userInfo(access)).status, 401);
    assert.deepEqual((await introspect(access)).cnf, { jkt: 'a key' });
  });
}

test('better-auth: a disabled client cannot authenticate, and its tokens are inactive', async () => {
  await using server = await betterAuthServer();
  const { ask, introspect } = grantdOver(server);
  const { access } = await server.issue();
  server.disableApp();
  assert.deepEqual(await introspect(access, server.other), { active: false });
  assert.equal((await ask('/token/introspect', server.app, access)).status, 401);
});

test('the host of the example accepts tokens of its library', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-coming-from-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const DATABASE = join(folder, 'host.db');
  await using server = await jmondiServer({}, DATABASE);
  const { access } = await server.issue();
  const variables = { DATABASE, JWT_SECRET: OLD_SECRET, ISSUER: server.issuer };
  const { url } = await started(t, 'coming_from/host.ts', variables);
  const userInfo = () => fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${access}` } });
  assert.deepEqual(await (await userInfo()).json(), { email: 'alice@example.com', sub: '7' });
  const { app } = server;
  assert.equal((await post(`${url}/token/revoke`, { token: access }, basic(app.id, app.secret))).status, 200);
  assert.equal((await userInfo()).status, 401);
  assert.equal(await server.accepts(access), false);
});

for (const [name, start] of [
  ['oidc-provider', oidcProviderServer],
  ['better-auth', betterAuthServer],
] as const) {
  test(`${name}: a revocation that fails half-way is 503, and can be repeated`, async () => {
    await using server = await start();
    const { isActive, revoke } = grantdOver(server, { onEvent: () => {} });
    for (const which of ['access', 'refresh'] as const)
      for (const broken of ['access', 'refresh'] as const) {
        const tokens = await server.issue();
        server.breakRevocation(broken);
        assert.equal((await revoke(tokens[which])).status, 503);
        server.breakRevocation(undefined);
        assert.equal((await revoke(tokens[which])).status, 200);
        assert.deepEqual([await isActive(tokens.access), await isActive(tokens.refresh)], [false, false]);
      }
  });
}
