// § refers to RFC 9470.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Approval } from '@grantd/core';
import {
  AccessTokenIntrospector,
  type AccessTokens,
  AccessTokenVerifier,
  ConfigurationError,
  EmbeddedAccessTokens,
  type ProtectionOptions,
} from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';
import { proofOf } from '../../core/test/harness/dpop_proofs.ts';
import { askForTokens, type Fields, grantTo } from '../../core/test/harness/granting.ts';
import { PKCE } from '../../core/test/harness/token_endpoint.ts';
import type { TestResponse } from '../../core/test/harness/transports/transport.ts';
import { basic, ISSUER, openWorld, type World, type WorldOptions } from '../../core/test/harness/world.ts';
import { PROTECTED_HOSTS } from './harness/protected_hosts.ts';
import { API, AskedServer, apiToken, CREDENTIALS } from './harness/resource_server.ts';

const PASSWORD = 'urn:example:password';
const KEY = 'urn:example:key';

/** How an API learns of the sign-in, and the tokens that it does so for. */
const WAYS: Readonly<Record<string, { readonly format: 'jwt' | 'opaque'; readonly open: OpenTokens }>> = {
  'JWTs, verified locally': {
    format: 'jwt',
    open: ({ clock }, { fetch }) =>
      new AccessTokenVerifier({ issuer: ISSUER, audience: API, fetch, clock: clock.read }),
  },
  'JWTs, introspected': { format: 'jwt', open: introspecting },
  'opaque tokens, introspected': { format: 'opaque', open: introspecting },
  'opaque tokens, in the same process': {
    format: 'opaque',
    open: ({ server }) => new EmbeddedAccessTokens({ server, audience: API }),
  },
};

type OpenTokens = (world: World, asked: AskedServer) => AccessTokens;

function introspecting({ clock }: World, { fetch }: AskedServer): AccessTokens {
  const cache = { maxSeconds: 3600 }; // a cached sign-in gets older too
  return new AccessTokenIntrospector({
    issuer: ISSUER,
    audience: API,
    credentials: CREDENTIALS,
    fetch,
    clock: clock.read,
    cache,
  });
}

function openServer(t: TestContext, options: WorldOptions = {}): Promise<World> {
  return openWorld(t, { acrValues: [PASSWORD, KEY], accessTokenLifetime: 3600, ...options });
}

/** Tokens for the API, after alice has signed in. */
function signedIn(world: World, approval: Partial<Approval> = {}, request: Fields = {}) {
  return grantTo(world, 'web', { request: { resource: API, scope: 'read', ...request }, approval });
}

/** Whether the API lets a request with the token through, or else its challenge. */
function calling(options: ProtectionOptions): (token: string) => Promise<string> {
  const answer = protect(options)(() => new Response('let through'));
  return async (token) => {
    const request = new Request(API, { headers: { authorization: `Bearer ${token}` } });
    const response = await answer(request);
    return response.headers.get('www-authenticate') ?? response.text();
  };
}

const challenge = (description: string, requirements: string) =>
  `Bearer realm="api", error="insufficient_user_authentication", error_description="${description}"${requirements}`;

const OTHER_LEVEL = 'a different authentication level is required';
const MORE_RECENT = 'more recent authentication is required';

for (const host of PROTECTED_HOSTS) {
  describe(`a protected API in ${host.name}`, () => {
    test('§3 a sign-in that does not suffice is 401 insufficient_user_authentication, and the challenge says what does', async (t) => {
      const world = await openServer(t);
      const tokens = introspecting(world, new AskedServer(world));
      const api = await host.open({ tokens, acr: [KEY, PASSWORD], maxAge: 300, clock: world.clock.read });
      t.after(() => api.close());
      const call = async (approval: Partial<Approval>) => {
        const { access_token } = await signedIn(world, approval);
        const authorization = `Bearer ${access_token}`;
        return api.send({ method: 'GET', path: '/notes', headers: { authorization } });
      };
      const refused = (description: string): TestResponse => ({
        status: 401,
        headers: {
          'content-type': 'application/json',
          'cache-control': 'no-store',
          'www-authenticate': challenge(description, `, acr_values="${KEY} ${PASSWORD}", max_age="300"`),
        },
        body: `{"error":"insufficient_user_authentication","error_description":"${description}"}`,
      });
      assert.deepEqual(await call({}), refused(OTHER_LEVEL));
      const old = world.clock.seconds - 301;
      assert.deepEqual(await call({ acr: PASSWORD, authTime: old }), refused(MORE_RECENT));
      assert.equal((await call({ acr: PASSWORD })).status, 200);
    });
  });
}

for (const [way, { format, open }] of Object.entries(WAYS)) {
  describe(`an API with ${way}`, () => {
    test('§3 the class of the sign-in is exactly one of those that the API accepts', async (t) => {
      const world = await openServer(t, { accessTokenFormat: format });
      const call = calling({ tokens: open(world, new AskedServer(world)), acr: [KEY] });
      const refused = challenge(OTHER_LEVEL, `, acr_values="${KEY}"`);
      for (const approval of [{}, { acr: PASSWORD }, { acr: `${KEY} ${PASSWORD}` }, { acr: '' }])
        assert.equal(
          await call((await signedIn(world, approval)).access_token),
          refused,
          JSON.stringify(approval),
        );
      assert.equal(await call((await signedIn(world, { acr: KEY })).access_token), 'let through');
      assert.equal(await call(await apiToken(world)), refused);
    });

    test('§3 the sign-in is at most max_age seconds old, and a refresh does not make it newer', async (t) => {
      const world = await openServer(t, { accessTokenFormat: format });
      const { read: clock } = world.clock;
      const call = calling({ tokens: open(world, new AskedServer(world)), maxAge: 300, clock });
      const refused = challenge(MORE_RECENT, ', max_age="300"');
      const { access_token, refresh_token } = await signedIn(world, { acr: KEY });
      world.clock.advance(300);
      assert.equal(await call(access_token), 'let through');
      world.clock.advance(1);
      assert.equal(await call(access_token), refused);
      const { status, body } = await askForTokens(world, 'web', {
        grant_type: 'refresh_token',
        refresh_token,
        resource: API,
      });
      assert.equal(status, 200, body);
      assert.equal(await call(JSON.parse(body).access_token), refused);
      assert.equal(await call(await apiToken(world)), refused);
      assert.equal(await call((await signedIn(world)).access_token), 'let through');
    });

    test('§6.1, §6.2 acr and auth_time are those of the sign-in, after a refresh too', async (t) => {
      const world = await openServer(t, { accessTokenFormat: format });
      const tokens = open(world, new AskedServer(world));
      const of = async (token: string) => {
        const { acr, auth_time } = (await tokens.verify(token)).claims;
        return { acr, auth_time };
      };
      const signIn = { acr: KEY, auth_time: world.clock.seconds - 9 };
      const approval = { acr: signIn.acr, authTime: signIn.auth_time };
      const { access_token, refresh_token } = await signedIn(world, approval);
      assert.deepEqual(await of(access_token), signIn);
      world.clock.advance(60);
      const fields = { grant_type: 'refresh_token', refresh_token, resource: API };
      const { body } = await askForTokens(world, 'web', fields);
      assert.deepEqual(await of(JSON.parse(body).access_token), signIn);
      assert.deepEqual(await of(await apiToken(world)), { acr: undefined, auth_time: undefined });
    });

    test('§4, §5 the client asks for what the challenge says, and the new token is accepted', async (t) => {
      const world = await openServer(t, { accessTokenFormat: format });
      const { read: clock } = world.clock;
      const call = calling({ tokens: open(world, new AskedServer(world)), acr: [KEY], maxAge: 300, clock });
      const signedInAt = world.clock.seconds;
      const { access_token } = await signedIn(world, { acr: PASSWORD });
      world.clock.advance(600);
      const { acr_values = '', max_age = '' } = parametersOf(await call(access_token));
      assert.deepEqual({ acr_values, max_age }, { acr_values: KEY, max_age: '300' });
      // The host sees what the client wants, and that alice has not signed in so.
      const wanted = await validated(world, { acr_values, max_age });
      assert.deepEqual([wanted.acrValues, wanted.maxAge], [[KEY], 300]);
      assert.ok(signedInAt < world.clock.seconds - Number(wanted.maxAge));
      const again = await signedIn(world, { acr: wanted.acrValues[0] ?? '' }, { acr_values, max_age });
      assert.equal(await call(again.access_token), 'let through');
    });
  });
}

/** The parameters of a challenge. */
function parametersOf(header: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

function validated({ server }: World, parameters: Readonly<Record<string, string>>) {
  const usual = { client_id: 'web', response_type: 'code', redirect_uri: 'https://web.example/callback' };
  const query = new URLSearchParams({ ...usual, ...PKCE, ...parameters });
  return server.authorization.validate({ method: 'GET', url: `/authorize?${query}`, headers: {} });
}

/** Tokens of a server that says anything about the sign-in. */
function claiming(claims: Readonly<Record<string, unknown>>, scopes: readonly string[] = []): AccessTokens {
  return { verify: async () => ({ sub: 'alice', clientId: 'web', scopes, expiresAt: undefined, claims }) };
}

test('§3 a time of sign-in that is no number is none', async () => {
  const clock = () => 1_767_268_800_000;
  for (const auth_time of [undefined, null, '1767268800', true, [1_767_268_800], Infinity]) {
    const call = calling({ tokens: claiming({ auth_time }), maxAge: 300, clock });
    assert.equal(await call('x'), challenge(MORE_RECENT, ', max_age="300"'), String(auth_time));
  }
  const call = calling({ tokens: claiming({ auth_time: 1_767_268_800 }), maxAge: 300, clock });
  assert.equal(await call('x'), 'let through');
});

test('§3 a token that lacks a scope besides gets one challenge with everything', async () => {
  const tokens = claiming({ acr: PASSWORD }, ['read']);
  const scopes = ['read', 'write'];
  assert.equal(
    await calling({ tokens, scopes, acr: [KEY] })('x'),
    challenge(OTHER_LEVEL, `, scope="read write", acr_values="${KEY}"`),
  );
  assert.equal(
    await calling({ tokens, scopes: ['read'], acr: [KEY] })('x'),
    challenge(OTHER_LEVEL, `, scope="read", acr_values="${KEY}"`),
  );
  assert.equal(
    await calling({ tokens, scopes, acr: [PASSWORD] })('x'),
    'Bearer realm="api", error="insufficient_scope", error_description="the access token lacks a required scope", scope="read write"',
  );
});

test('§3 a token that is bound to a key gets a DPoP challenge with the same requirements', async (t) => {
  const world = await openServer(t);
  const { body } = await world.send({
    method: 'POST',
    path: '/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic('machine'),
      dpop: await proofOf(world),
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', resource: API }).toString(),
  });
  const token: string = JSON.parse(body).access_token;
  const answer = protect({
    tokens: new EmbeddedAccessTokens({ server: world.server, audience: API }),
    dpop: { baseUrl: API, algorithms: ['ES256'] },
    acr: [KEY],
    maxAge: 300,
    clock: world.clock.read,
  })(() => new Response());
  const dpop = await proofOf(world, { htm: 'GET', htu: `${API}/notes`, token });
  const headers = { authorization: `DPoP ${token}`, dpop };
  const { status, headers: answered } = await answer(new Request(`${API}/notes`, { headers }));
  const requirements = `error="insufficient_user_authentication", error_description="${OTHER_LEVEL}", acr_values="${KEY}", max_age="300"`;
  assert.deepEqual(
    [status, answered.get('www-authenticate')],
    [401, `DPoP realm="api", ${requirements}, algs="ES256", Bearer realm="api"`],
  );
});

test('§5 a host refuses a request whose class of sign-in it cannot reach, so that the client does not ask again and again', async (t) => {
  const world = await openServer(t);
  const request = await validated(world, { acr_values: KEY, state: 'xyz' });
  const { headers } = await world.server.authorization.refuse(
    request,
    'unmet_authentication_requirements',
    'no security key is registered',
  );
  const { searchParams } = new URL(String(headers.location));
  assert.deepEqual(
    [searchParams.get('error'), searchParams.get('state'), searchParams.get('code')],
    ['unmet_authentication_requirements', 'xyz', null],
  );
});

test('§7 the metadata list the classes that sign-ins can reach', async (t) => {
  const { server } = await openServer(t);
  assert.deepEqual(server.serverMetadata.acr_values_supported, [PASSWORD, KEY]);
  const without = await openServer(t, { acrValues: [] });
  assert.equal('acr_values_supported' in without.server.serverMetadata, false);
});

test('§9 only a valid token learns what the API requires of the sign-in', async (t) => {
  const world = await openServer(t);
  const tokens = new EmbeddedAccessTokens({ server: world.server, audience: API });
  const call = calling({ tokens, acr: [KEY], maxAge: 300 });
  for (const [token, description] of [
    ['unknown', 'the access token is revoked or unknown'],
    ['grantd_at_unknown', 'the access token is malformed'],
  ] as const) {
    const refusal = `error="invalid_token", error_description="${description}"`;
    assert.equal(await call(token), `Bearer realm="api", ${refusal}`);
  }
  const response = await protect({ tokens, acr: [KEY] })(() => new Response())(new Request(API));
  assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="api"');
});

test('requirements on the sign-in that do not fit are refused at once', () => {
  const tokens = claiming({});
  const cases: readonly (readonly [object, ConfigurationError])[] = [
    ...[[], [''], ['two words'], ['ü'], [1], 'one', null].map(
      (acr) =>
        [
          { acr },
          new ConfigurationError('acr', `a list of at least one text of visible ASCII characters, got `),
        ] as const,
    ),
    ...[0, -1, 1.5, NaN, Infinity, '300', null, 10 * 365 * 24 * 60 * 60 + 1].map(
      (maxAge) =>
        [{ maxAge }, new ConfigurationError('maxAge', 'whole seconds from 1 to 315360000, got ')] as const,
    ),
  ];
  for (const [change, { option, message }] of cases) {
    assert.throws(
      () => protect({ tokens, ...change }),
      (error) =>
        error instanceof ConfigurationError && error.option === option && error.message.startsWith(message),
      JSON.stringify(change),
    );
  }
});
