// The three endpoints on exactly the required storage methods, by cases that another server's tests check too.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthorizationServer, jwtVerifier, OAuthError } from '@grantd/core';
import { jwtVerify, SignJWT } from 'jose';
import { OwnTables, publicKey } from './harness/own_tables.ts';
import { INACTIVE } from './harness/responses.ts';
import { basic } from './harness/world.ts';

const WEB = basic('web', 'secret of web');
const CHALLENGED = /^Basic realm=/;

/** A host with an access token of `web` and a refresh token that belong to a pair. */
async function hostWithPair(options: ConstructorParameters<typeof OwnTables>[1] = {}) {
  const host = new OwnTables({}, options);
  const [access, refresh] = [await host.jwt({ jti: 'a1' }), await host.jwt({ jti: 'r1' }, { typ: 'rt+jwt' })];
  host.store('access_token', 'a1', { pairId: 'p1' });
  host.store('refresh_token', 'r1', { pairId: 'p1' });
  return { host, access, refresh };
}

describe('revocation', () => {
  test('grantd §6.1 without client authentication, an access token is revoked', async () => {
    const { host, access } = await hostWithPair({ authenticateRevoke: false });
    const { status, body } = await host.post('/token/revoke', { token: access }, undefined);
    assert.deepEqual([status, body, await host.isActive(access)], [200, '', false]);
  });

  test('grantd §6.7 text that is no token gets 200, also in the form of a JWT', async () => {
    for (const authenticateRevoke of [true, false]) {
      const { host } = await hostWithPair({ authenticateRevoke });
      for (const token of ['invalid-token', 'not.a.jwt', 'a'.repeat(5000)]) {
        const { status, body } = await host.post(
          '/token/revoke',
          { token },
          authenticateRevoke ? WEB : undefined,
        );
        assert.deepEqual([status, body], [200, '']);
      }
    }
  });

  test('grantd §3.2 a request without token is malformed', async () => {
    const { host } = await hostWithPair();
    const { status, body } = await host.post('/token/revoke', {}, WEB);
    assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_request']);
  });

  test('grantd §6.2 a client revokes its own tokens, and a refresh token with its pair', async () => {
    for (const hint of ['access_token', 'refresh_token', undefined]) {
      for (const which of ['access', 'refresh'] as const) {
        const { host, ...tokens } = await hostWithPair();
        assert.equal((await host.revoke(tokens[which], hint)).status, 200);
        assert.deepEqual(
          [await host.isActive(tokens.access), await host.isActive(tokens.refresh)],
          [false, false],
        );
      }
    }
  });

  test('grantd §6.2 another client gets 200, and the tokens stay active', async () => {
    const { host, access, refresh } = await hostWithPair();
    for (const token of [access, refresh]) {
      assert.equal((await host.revoke(token, undefined, 'api')).status, 200);
      assert.equal(await host.isActive(token), true);
    }
  });

  test('grantd §4.4 without or with wrong credentials it is 401, and nothing is revoked', async () => {
    const { host, access } = await hostWithPair();
    for (const authorization of [undefined, basic('web', 'wrong'), basic('nobody', 'x')]) {
      const { status, headers, body } = await host.post('/token/revoke', { token: access }, authorization);
      assert.deepEqual([status, JSON.parse(body).error], [401, 'invalid_client']);
      assert.match(String(headers['www-authenticate']), CHALLENGED);
    }
    assert.equal(await host.isActive(access), true);
  });

  test('grantd §6.2 a public client revokes its token by its client_id alone', async () => {
    const host = new OwnTables();
    const token = await host.jwt({ jti: 'a1' });
    host.store('access_token', 'a1', { clientId: 'spa' });
    assert.equal((await host.post('/token/revoke', { token, client_id: 'spa' }, undefined)).status, 200);
    assert.equal(await host.isActive(token), false);
  });
});

describe('introspection', () => {
  test('grantd §5.2 a public client gets 401, unless the server allows it or does not authenticate', async () => {
    for (const [options, client_id, expected] of [
      [{}, 'spa', 401],
      [{ introspectionRequiresConfidentialClient: false }, 'spa', 200],
      [{ authenticateIntrospect: false }, undefined, 200],
    ] as const) {
      const { host, access } = await hostWithPair(options);
      const form = { token: access, ...(client_id && { client_id }) };
      const { status, body } = await host.post('/token/introspect', form, undefined);
      assert.equal(status, expected);
      if (expected === 200) assert.equal(JSON.parse(body).active, true);
    }
  });

  test('grantd §5.4 a confidential client sees the token of another client, by record and claims', async () => {
    const host = new OwnTables();
    const { seconds } = host.clock;
    const claims = {
      jti: 'a1',
      iat: seconds,
      nbf: seconds,
      aud: ['one', 'two'],
      username: 'alice',
      cid: 'ignored',
    };
    const token = await host.jwt(claims);
    host.store('access_token', 'a1', { scopes: 'openid email' });
    const { body, headers } = await host.introspect(token, 'refresh_token');
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(JSON.parse(body), {
      ...{ active: true, scope: 'openid email', client_id: 'web', token_type: 'Bearer', username: 'alice' },
      ...{ exp: seconds + 60, iat: seconds, nbf: seconds, sub: 'alice', aud: ['one', 'two'] },
      ...{ iss: 'https://as.example', jti: 'a1' },
    });
  });

  test('grantd §5.5 a token that is expired, unknown or revoked is {"active":false}', async () => {
    const { host, access } = await hostWithPair();
    assert.deepEqual(await host.introspect(await host.jwt({ jti: 'unknown' })), INACTIVE);
    host.store('access_token', 'expired', { expiresAt: new Date(host.clock.nowMs - 1000) });
    assert.deepEqual(await host.introspect(await host.jwt({ jti: 'expired' })), INACTIVE);
    await host.revoke(access);
    assert.deepEqual(await host.introspect(access), INACTIVE);
    assert.deepEqual(await host.introspect(access, 'auth_code'), INACTIVE);
  });

  test('grantd §3.3 an unknown hint is unsupported_token_type at both endpoints', async () => {
    const { host, access } = await hostWithPair();
    for (const send of [host.introspect.bind(host), host.revoke.bind(host)]) {
      const { status, body } = await send(access, 'id_token');
      assert.deepEqual([status, JSON.parse(body).error], [400, 'unsupported_token_type']);
    }
    assert.equal(await host.isActive(access), true);
  });
});

describe('UserInfo', () => {
  /** The error and status of UserInfo for a token with these claims, header and row. */
  async function refusal(claims: object, header: object = { typ: 'at+jwt' }, row: object = {}) {
    const host = new OwnTables();
    host.store('access_token', 'a1', row);
    const { status, headers } = await host.userInfo(await host.jwt({ jti: 'a1', ...claims }, header));
    return [status, /error="([a-z_]+)"/.exec(String(headers['www-authenticate']))?.[1]];
  }

  test('grantd §7.6 the scopes decide which claims are returned, and sub comes from the token', async () => {
    const claims = { sub: 'evil', name: 'Alice', email: 'alice@example.com' };
    const host = new OwnTables({}, { oidc: { getUserClaims: async () => claims } });
    const token = await host.jwt({ jti: 'a1' });
    host.store('access_token', 'a1', { scopes: 'openid profile' });
    const { status, headers, body } = await host.userInfo(token);
    assert.deepEqual(
      [status, headers['content-type'], headers['cache-control']],
      [200, 'application/json', 'no-store'],
    );
    assert.deepEqual(JSON.parse(body), { name: 'Alice', sub: 'alice' });
  });

  test('grantd §7.2 the token comes from the header or the form, never from the query', async () => {
    const { host, access } = await hostWithPair();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ access_token: access }).toString();
    const byForm = await host.server.handle({ method: 'POST', url: '/userinfo', headers, body });
    assert.equal(byForm?.status, 200);
    const url = `/userinfo?access_token=${access}`;
    const byQuery = await host.server.handle({ method: 'GET', url, headers: {} });
    assert.equal(byQuery?.status, 401);
    assert.match(String(byQuery?.headers['www-authenticate']), /^Bearer error="invalid_token"/);
  });

  test('grantd §7.5 without the scope openid it is 403 with the exact challenge', async () => {
    const host = new OwnTables();
    const token = await host.jwt({ jti: 'a1' });
    host.store('access_token', 'a1', { scopes: 'profile' });
    const { status, headers } = await host.userInfo(token);
    const challenge =
      'Bearer error="insufficient_scope", error_description="openid scope required", scope="openid"';
    assert.deepEqual([status, headers['www-authenticate']], [403, challenge]);
  });

  test('grantd §8.3 a wrong typ, issuer, time, subject or row is 401 invalid_token', async () => {
    const invalid = [401, 'invalid_token'];
    for (const [claims, header, row] of [
      [{}, { typ: 'JWT' }],
      [{}, { typ: 'rt+jwt' }],
      [{ iss: 'https://evil.example' }],
      [{ exp: 1 }],
      [{ exp: undefined }],
      [{ nbf: 4_000_000_000 }],
      [{ sub: undefined }],
      [{}, { typ: 'at+jwt' }, { expiresAt: new Date(0) }],
      [{}, { typ: 'at+jwt' }, { isFlagged: true }],
      [{ jti: 'unknown' }],
    ] as const)
      assert.deepEqual(await refusal(claims, header, row), invalid, JSON.stringify([claims, header, row]));
    assert.deepEqual(await refusal({}), [200, undefined]);
  });

  test('grantd §2.3 the algorithm is that of the key', async () => {
    const host = new OwnTables();
    host.store('access_token', 'a1');
    const claims = { iss: 'https://as.example', sub: 'alice', jti: 'a1', exp: host.clock.seconds + 60 };
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .sign(new TextEncoder().encode('secret-key-of-at-least-thirty-two-bytes'));
    assert.equal((await host.userInfo(forged)).status, 401);
    assert.equal(await host.isActive(forged), false);
  });

  test('grantd §7.3 times count, even if the JwtService ignores them', async () => {
    const verify = async (token: string) => {
      const lenient = { currentDate: new Date(0), clockTolerance: 10 ** 10, algorithms: ['ES256'] };
      const { payload, protectedHeader } = await jwtVerify(token, publicKey, lenient);
      return { verified: true, claims: payload, type: protectedHeader.typ } as const;
    };
    for (const claims of [{ exp: 1 }, { nbf: 4_000_000_000 }]) {
      const host = new OwnTables({}, { jwtService: { verify } });
      host.store('access_token', 'a1');
      assert.equal((await host.userInfo(await host.jwt({ jti: 'a1', ...claims }))).status, 401);
    }
  });

  test('grantd §8.4 a description of the host cannot break out of the challenge', async () => {
    const hostile = 'bad "value"\r\nWWW-Authenticate: injected="1"';
    const verify = () => Promise.reject(new OAuthError('invalid_token', hostile));
    const host = new OwnTables({}, { accessTokenVerifier: { verify } });
    const { status, headers } = await host.userInfo('x');
    const challenge =
      'Bearer error="invalid_token", error_description="bad valueWWW-Authenticate: injected=1"';
    assert.deepEqual([status, headers['www-authenticate']], [401, challenge]);
  });

  test('grantd §7.1 with OpenID Connect off, the operation says so', async () => {
    const { issuer, storage } = new OwnTables().server;
    const server = new AuthorizationServer({ issuer, storage, jwtService: jwtVerifier(publicKey) });
    await assert.rejects(server.userInfo({ method: 'GET', url: '/userinfo', headers: {} }), { status: 404 });
  });
});
