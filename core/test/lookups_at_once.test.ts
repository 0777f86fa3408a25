import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AdministrableStorage } from '@grantd/core';
import { CLIENT_CHALLENGE, errorOf, INACTIVE, JSON_HEADERS, REVOKED } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { basic, CLIENTS, openWorld, VERIFIER, type World, type WorldOptions } from './harness/world.ts';

/** Milliseconds that a lookup waits for the other one before the test fails. */
const PATIENCE_MS = 2000;

/** Checks before any use of storage. */
type Hold = () => Promise<void>;

/** The same storage, with delayed lookups of a client, and of a token or code. */
function held(storage: AdministrableStorage, client: Hold, token: Hold): AdministrableStorage {
  const { clients, tokens, authorizationCodes } = storage;
  const after =
    <A extends unknown[], R>(hold: Hold, ask: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      await hold();
      return await ask(...args);
    };
  const heldClients = { ...clients, get: after(client, clients.get) };
  return {
    ...storage,
    clients: heldClients,
    tokens: {
      ...tokens,
      joinedClients: heldClients,
      getByAccessToken: after(token, tokens.getByAccessToken),
      getByRefreshToken: after(token, tokens.getByRefreshToken),
    },
    authorizationCodes: { ...authorizationCodes, get: after(token, authorizationCodes.get) },
  };
}

/** Two delays, each of which ends when the other has begun, and fails if that takes too long. */
function meeting(): readonly [Hold, Hold] {
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const meet = (mine: typeof one, theirs: typeof one) => async (): Promise<void> => {
    mine.resolve();
    const timer = setTimeout(() => theirs.reject(new Error('nothing else was asked')), PATIENCE_MS);
    await theirs.promise.finally(() => clearTimeout(timer));
  };
  return [meet(one, other), meet(other, one)];
}

const OPAQUE = { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true } as const;

const OPERATIONS = {
  '/token/introspect': 'introspection',
  '/token/revoke': 'revocation',
  '/token': 'token',
} as const;

/** Requests with something to look up, by the client `web`. */
const REQUESTS: readonly {
  readonly what: string;
  readonly path: keyof typeof OPERATIONS;
  readonly options?: WorldOptions;
  form(world: World): Promise<Readonly<Record<string, string>>>;
}[] = [
  {
    what: 'the refresh token',
    path: '/token',
    options: OPAQUE,
    form: async (world) => {
      const { refresh_token } = await world.grant();
      return { grant_type: 'refresh_token', refresh_token };
    },
  },
  {
    what: 'the code',
    path: '/token',
    form: async (world) => ({
      grant_type: 'authorization_code',
      code: await world.code(),
      redirect_uri: CLIENTS.web.redirectUris[0],
      code_verifier: VERIFIER,
    }),
  },
  ...(['/token/introspect', '/token/revoke'] as const).flatMap((path) => [
    { what: 'a JWT', path, form: async (world: World) => ({ token: (await world.grant()).access_token }) },
    {
      what: 'an opaque refresh token',
      path,
      options: OPAQUE,
      form: async (world: World) => ({ token: (await world.grant()).refresh_token }),
    },
    ...(path === '/token/revoke'
      ? [
          {
            what: 'a code',
            path,
            form: async (world: World) => ({ token: await world.code(), token_type_hint: 'auth_code' }),
          },
        ]
      : []),
  ]),
];

for (const { what, path, options, form } of REQUESTS) {
  test(`at ${path}, the client and ${what} are looked up at the same time`, async (t) => {
    const world = await openWorld(t, options);
    const parameters = await form(world);
    const expected = path === '/token/introspect' ? await world.post(path, parameters, 'web') : REVOKED;
    const server = await secondServer(world, options, held(world.storage, ...meeting()));
    const response = await server.post(path, parameters, 'web');
    if (path === '/token') assert.equal(response.status, 200, response.body);
    else assert.deepEqual(response, expected);
    if (path === '/token/revoke' && what !== 'a code') {
      assert.deepEqual(await world.introspect(parameters.token ?? ''), INACTIVE);
    }
  });

  for (const [outcome, lookUp] of [
    ['never answers', () => new Promise<never>(() => {})],
    ['is out of reach', () => Promise.reject(new Error('no connection'))],
    ['goes out of reach later', () => nextTurn().then(() => Promise.reject(new Error('no connection')))],
  ] as const) {
    const title = `at ${path}, a caller that is refused learns and tells nothing of ${what} that ${outcome}`;
    test(title, async (t) => {
      const world = await openWorld(t, options);
      const parameters = await form(world);
      const server = await secondServer(world, options, held(world.storage, nextTurn, lookUp));
      const response = await server.post(path, parameters, null, { authorization: basic('web', 'wrong') });
      const headers = { ...JSON_HEADERS, ...(path !== '/token/introspect' && { vary: 'Origin' }) };
      assert.deepEqual(
        response,
        errorOf(401, 'invalid_client', 'client authentication failed', {
          ...headers,
          'www-authenticate': CLIENT_CHALLENGE,
        }),
      );
      // An unhandled rejection would fail the test.
      for (let turns = 0; turns < 10; turns++) await nextTurn();
      const refusal = {
        type: 'refused',
        error: 'invalid_client',
        status: 401,
        reason: 'client_secret_wrong',
      };
      assert.deepEqual(server.events, [{ operation: OPERATIONS[path], clientId: 'web', ...refusal }]);
    });
  }
}

for (const path of ['/token/introspect', '/token/revoke']) {
  test(`at ${path}, of several errors the first in order is returned: the caller’s, the token’s, the hint’s`, async (t) => {
    const world = await openWorld(t);
    const told = async (form: Readonly<Record<string, string>>, secret: string) => {
      const response = await world.post(path, form, null, { authorization: basic('web', secret) });
      return [response.status, JSON.parse(response.body).error_description];
    };
    const secret = 'the secret of web';
    const hint = { token_type_hint: 'id_token' };
    const refused = [401, 'client authentication failed'];
    assert.deepEqual(await told({}, 'wrong'), refused);
    assert.deepEqual(await told(hint, 'wrong'), refused);
    assert.deepEqual(await told({ ...hint, token: 'x' }, 'wrong'), refused);
    assert.deepEqual(await told(hint, secret), [400, 'the parameter token is missing']);
    assert.deepEqual(await told({ ...hint, token: 'x' }, secret), [400, 'the token_type_hint is unknown']);
  });

  test(`at ${path}, nothing is looked up for a token that is not named, or by an unknown hint`, async (t) => {
    const world = await openWorld(t);
    const token = (await world.grant()).access_token;
    const asked: string[] = [];
    const note = async () => void asked.push('token');
    const server = await secondServer(
      world,
      {},
      held(world.storage, async () => {}, note),
    );
    await server.post(path, {}, 'web');
    await server.post(path, { token, token_type_hint: 'id_token' }, 'web');
    if (path === '/token/introspect') await server.post(path, { token, token_type_hint: 'auth_code' }, 'web');
    assert.deepEqual(asked, []);
  });
}

test('at /userinfo, the client and the user’s claims are looked up at the same time', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const [client, person] = meeting();
  const getUserClaims = async () => {
    await person();
    return { name: 'Alice Liddell' };
  };
  const storage = held(world.storage, client, async () => {});
  const server = await secondServer(world, { oidc: { getUserClaims } }, storage);
  const { status, body } = await server.userInfo(access_token);
  assert.deepEqual([status, JSON.parse(body)], [200, { name: 'Alice Liddell', sub: 'alice' }]);
});

test('at /userinfo, a user without claims gets that error, whatever the client’s lookup returns', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  for (const lookUp of [
    () => new Promise<never>(() => {}),
    () => Promise.reject(new Error('no connection')),
  ]) {
    const storage = held(world.storage, lookUp, async () => {});
    const server = await secondServer(world, { oidc: { getUserClaims: () => undefined } }, storage);
    const { status, body } = await server.userInfo(access_token);
    const expected = { error: 'invalid_token', error_description: 'the access token has no user' };
    assert.deepEqual([status, JSON.parse(body)], [401, expected]);
  }
});

test('without HTTP, a user’s claims need no client', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const never = () => new Promise<never>(() => {});
  const storage = held(world.storage, never, async () => {});
  const { server } = await secondServer(world, { oidc: { getUserClaims: () => ({}) } }, storage);
  assert.deepEqual(await server.userInfoOf(access_token), { sub: 'alice' });
});
