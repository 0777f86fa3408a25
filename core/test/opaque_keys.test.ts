// Tokens of hosts that are looked up by themselves (`TokenRepository.keyedBy`, `identify`).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AuthorizationServer,
  ConfigurationError,
  type HostToken,
  jwtVerifier,
  type TokenRepository,
} from '@grantd/core';
import { mount } from '@grantd/core/fetch';
import { SignJWT } from 'jose';

const ISSUER = 'https://login.example';
const SECRET = 'the secret that the host signs with';
const JTI = 'the-jti-of-the-access-token';
const OPAQUE_REFRESH = 'an opaque refresh token';
const row: HostToken = {
  clientId: 'app',
  scopes: 'openid',
  expiresAt: Math.floor(Date.now() / 1000) + 3600,
  subject: 'alice',
};

/** Rows with the key that the host gave them. */
const byKey = (key: string, known: string) => (key === known ? row : undefined);

const TOKENS: TokenRepository = {
  getByAccessToken: (key) => byKey(key, JTI),
  getByRefreshToken: (key) => byKey(key, OPAQUE_REFRESH),
  isRefreshTokenRevoked: () => false,
  revoke: () => {},
};

function host(tokens: TokenRepository, jwtService?: ReturnType<typeof jwtVerifier>) {
  const endpoints = mount(
    new AuthorizationServer({
      issuer: ISSUER,
      storage: { clients: { get: () => ({ id: 'app', tokenEndpointAuthMethod: 'none' }) }, tokens },
      ...(jwtService && { jwtService }),
      authenticateIntrospect: false,
      authenticateRevoke: false,
      oidc: { getUserClaims: () => ({ name: 'Alice' }) },
    }),
  );
  const isActive = async (token: string) => {
    const body = new URLSearchParams({ token });
    const response = await endpoints(new Request(`${ISSUER}/token/introspect`, { method: 'POST', body }));
    return ((await response.json()) as { active: boolean }).active;
  };
  const userInfo = async (token: string) =>
    (await endpoints(new Request(`${ISSUER}/userinfo`, { headers: { authorization: `Bearer ${token}` } })))
      .status;
  return { isActive, userInfo };
}

const verifier = () => jwtVerifier([{ algorithm: 'HS256', secret: SECRET }]);
const signed = () =>
  new SignJWT({ jti: JTI, iss: ISSUER, sub: 'alice' })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET));

test('the jti of a JWT is no token, although refresh tokens are looked up by themselves', async () => {
  const { isActive, userInfo } = host({ ...TOKENS, keyedBy: { refresh_token: 'token' } }, verifier());
  const token = await signed();
  assert.deepEqual(await Promise.all([token, OPAQUE_REFRESH, JTI].map(isActive)), [true, true, false]);
  assert.deepEqual([await userInfo(token), await userInfo(JTI)], [200, 401]);
});

test('with JWTs, the host names the kinds that are looked up by themselves', () => {
  assert.throws(
    () => host({ ...TOKENS, keyedBy: 'token' }, verifier()),
    (error) => error instanceof ConfigurationError && /storage\.tokens\.keyedBy.*jti/.test(error.message),
  );
});

test('keyedBy takes digest, token, or one of them for each kind', () => {
  for (const keyedBy of ['digest', { access_token: 'digest' }, {}] as const)
    assert.doesNotThrow(() => host({ ...TOKENS, keyedBy }, verifier()));
  const wrong: readonly unknown[] = ['tokens', null, 5, [], { access: 'token' }, { access_token: 'hash' }];
  for (const keyedBy of wrong)
    assert.throws(
      () => host({ ...TOKENS, keyedBy } as TokenRepository, verifier()),
      (error) => error instanceof ConfigurationError && error.option === 'storage.tokens.keyedBy',
      JSON.stringify(keyedBy),
    );
});

test('a host whose tokens are all opaque needs no keys, and accepts no JWT', async () => {
  const { isActive } = host({ ...TOKENS, keyedBy: 'token' });
  const texts = [JTI, OPAQUE_REFRESH, await signed()];
  assert.deepEqual(await Promise.all(texts.map(isActive)), [true, true, false]);
  assert.throws(() => host(TOKENS), ConfigurationError); // its tokens could be JWTs
});

test('identify gets the JWT itself, for tables that hold it', async () => {
  const token = await signed();
  const { isActive } = host(
    {
      ...TOKENS,
      identify: (_, jwt) => ({ kind: 'access_token', key: jwt }),
      getByAccessToken: (key) => byKey(key, token),
    },
    verifier(),
  );
  assert.equal(await isActive(token), true);
});
