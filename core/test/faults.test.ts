// Long: a list of every storage method with its faults, and the tests that go through it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  type AuthorizingStorage,
  clientDocuments,
  type IssuingTokenRepository,
  StorageFault,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { BreakableStore, DRIVER_MESSAGE, FAILURES } from './harness/breakable_store.ts';
import { asParameters, assertionOf, clientKey } from './harness/client_keys.ts';
import {
  ACCESS,
  asResponse,
  BEARER_OUTAGE,
  CALLER,
  ONCE,
  OPEN_OUTAGE,
  PUBLIC_OUTAGE,
  REFRESH,
  runScenes,
  type Scene,
  SIGNING,
  VERIFYING,
  WHOLE_HOST,
} from './harness/fault_scenes.ts';
import { CALLBACK, configure, openRegistration, postRegistration, register } from './harness/registration.ts';
import { errorOf, INACTIVE, OPEN_JSON_HEADERS, OUTAGE } from './harness/responses.ts';
import { SQLITE } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import { basic, CHALLENGE, CLIENTS, ISSUER, openWorld, SECRET, type World } from './harness/world.ts';

/** A client whose identifier is the URL of its document. */
const DOCUMENT = 'https://editor.example/client.json';

const SCENES: readonly Scene[] = [
  {
    sentence:
      'grantd §8.5 introspection of an access token is 503 whenever storage fails, never {"active":false}',
    asks: [...CALLER, ...VERIFYING, ...ACCESS],
    status: 200,
    outage: OUTAGE,
    async arrange(world) {
      const { access_token } = await world.grant();
      return () => world.introspect(access_token);
    },
  },
  {
    sentence:
      'grantd §8.5 introspection of a refresh token is 503 whenever storage fails, never {"active":false}',
    asks: [...CALLER, ...VERIFYING, ...REFRESH],
    status: 200,
    outage: OUTAGE,
    async arrange(world) {
      const { refresh_token } = await world.grant();
      return () => world.introspect(refresh_token);
    },
  },
  {
    sentence:
      'grantd §8.5 introspection of opaque tokens is 503 whenever storage fails, never {"active":false}',
    asks: [...CALLER, ...ACCESS],
    status: 200,
    outage: OUTAGE,
    options: { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
    async arrange(world) {
      const { access_token } = await world.grant();
      return () => world.introspect(access_token);
    },
  },
  {
    sentence: 'grantd §8.5 introspection of a token that storage does not know is 503 whenever storage fails',
    asks: [...CALLER, 'tokens.getByAccessToken'],
    status: 200,
    outage: OUTAGE,
    arrange: async (world) => () => world.introspect(`grantd_at_${'A'.repeat(43)}`),
  },
  {
    sentence: 'grantd §8.5 revocation of an access token is 503 whenever storage fails, never 200',
    asks: [...CALLER, ...VERIFYING, 'tokens.getByAccessToken', 'tokens.revoke'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { access_token } = await world.grant();
      return () => world.revoke(access_token);
    },
  },
  {
    sentence: 'grantd §8.5 revocation of a refresh token is 503 whenever storage fails, never 200',
    asks: [...CALLER, ...VERIFYING, 'tokens.getByRefreshToken', 'tokens.revoke'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { refresh_token } = await world.grant();
      return () => world.revoke(refresh_token);
    },
  },
  {
    sentence: 'grantd §8.5 revocation of a code is 503 whenever storage fails, never 200',
    asks: [...CALLER, 'authorizationCodes.get', 'authorizationCodes.revoke'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const code = await world.code();
      return () => world.revoke(code, 'web', 'auth_code');
    },
  },
  {
    sentence: 'RFC 7523 §3 (7) a client is not let in by an assertion whenever storage fails, it is 503',
    asks: [...CALLER, ...ONCE],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { publicJwk } = await clientKey('ES256');
      await world.storage.clients.add({
        ...CLIENTS.machine,
        id: 'signer',
        metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
      });
      return async () => {
        const assertion = await assertionOf(world, 'signer', 'ES256');
        return world.post('/token/revoke', { token: 'grantd_at_x', ...asParameters(assertion) });
      };
    },
  },
  {
    sentence: 'RFC 9701 §5 introspection as a JWT is 503 whenever storage fails',
    asks: [...CALLER, ...VERIFYING, ...ACCESS, ...SIGNING],
    status: 200,
    outage: OUTAGE,
    async arrange(world) {
      const { access_token: token } = await world.grant();
      const accept = 'application/token-introspection+jwt';
      return () => world.post('/token/introspect', { token }, 'api', { accept });
    },
  },
  {
    sentence: 'grantd §8.5 UserInfo is 503 with a challenge whenever storage fails, never 401',
    asks: [...CALLER, ...VERIFYING, ...ACCESS],
    status: 200,
    outage: BEARER_OUTAGE,
    async arrange(world) {
      const { access_token } = await world.grant();
      return () => world.userInfo(access_token);
    },
  },
  {
    sentence: 'RFC 6749 §4.1.3 the redemption of a code is 503 whenever storage fails',
    asks: [...CALLER, ...SIGNING, 'authorizationCodes.get', 'clients.findApis', 'authorizationCodes.redeem'],
    status: 200,
    statusOnceDone: 400,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const code = await world.code();
      return () => world.redeem(code);
    },
  },
  {
    sentence:
      'RFC 6749 §4.1.2 the second redemption of a code is 503 whenever storage fails, never a mere refusal',
    asks: [...CALLER, 'authorizationCodes.get', 'authorizationCodes.revoke'],
    status: 400,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const code = await world.code();
      await world.redeem(code);
      return () => world.redeem(code);
    },
  },
  {
    sentence: 'RFC 6749 §6 a refresh is 503 whenever storage fails, and a retry leads on',
    asks: [...CALLER, ...SIGNING, ...REFRESH, 'clients.findApis', 'tokens.rotate'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { refresh_token } = await world.grant();
      return () => world.refresh(refresh_token);
    },
  },
  {
    sentence: 'RFC 6749 §6 the retry of a refresh is 503 whenever storage fails',
    asks: [...CALLER, 'keys.currentKeyId', ...REFRESH, 'clients.findApis', 'tokens.issueFrom'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { refresh_token } = await world.grant();
      await world.rotated(refresh_token);
      return () => world.refresh(refresh_token);
    },
  },
  {
    sentence:
      'RFC 9700 §4.14.2 the reuse of a refresh token is 503 whenever storage fails, never a mere refusal',
    asks: [...CALLER, ...REFRESH, 'tokens.revokeFamily'],
    status: 400,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { refresh_token } = await world.grant();
      await world.rotated(refresh_token);
      world.clock.advance(60);
      return () => world.refresh(refresh_token);
    },
  },
  {
    sentence: 'RFC 6749 §6 a refresh without rotation is 503 whenever storage fails',
    asks: [...CALLER, ...SIGNING, ...REFRESH, 'clients.findApis', 'tokens.issueFrom'],
    status: 200,
    outage: OPEN_OUTAGE,
    async arrange(world) {
      const { storage, server } = world;
      const id = 'still';
      const secrets = [await server.operator.hashClientSecret(`the secret of ${id}`)];
      const client = {
        id,
        secrets,
        grantTypes: ['refresh_token'],
        scopes: ['read'],
        redirectUris: [],
      } as const;
      await storage.clients.add({ ...client, rotateRefreshTokens: false });
      const [issued] = await server.operator.issueTokens({ clientId: id, subject: 'alice', refresh: true });
      const form = { grant_type: 'refresh_token', refresh_token: issued?.refreshToken ?? '' };
      const credentials = { client_id: id, client_secret: `the secret of ${id}` };
      return () => world.post('/token', { ...form, ...credentials });
    },
  },
  {
    sentence: 'RFC 6749 §4.4 a client that asks for itself is answered with 503 whenever storage fails',
    asks: [...CALLER, ...SIGNING, 'clients.findApis', 'tokens.issue'],
    status: 200,
    outage: OPEN_OUTAGE,
    arrange: async (world) => () => world.post('/token', { grant_type: 'client_credentials' }, 'machine'),
  },
  {
    sentence:
      'RFC 6749 §4.1.1 an authorization request is 503 whenever storage fails, never an unknown client',
    asks: CALLER,
    status: 200,
    outage: OUTAGE,
    arrange: async (world) => () =>
      asResponse(world.server.authorization.validate(authorizationRequest('web'))),
  },
  {
    sentence: 'RFC 6749 §4.1.2 an approval is 503 whenever storage fails, and no code goes to the client',
    asks: ['authorizationCodes.issue', 'oneTimeIdentifiers.take'],
    status: 303,
    statusOnceDone: 400,
    outage: OUTAGE,
    async arrange({ server }) {
      const request = await server.authorization.validate(authorizationRequest('web'));
      return () => asResponse(server.authorization.complete(request, { subject: 'alice' }));
    },
  },
  {
    sentence:
      'RFC 9126 §7.3 an approval of a pushed request is 503 whenever storage fails, and can be given again',
    asks: ['authorizationCodes.issue', 'pending.take', 'oneTimeIdentifiers.take'],
    status: 303,
    statusOnceDone: 400,
    outage: OUTAGE,
    async arrange(world) {
      const { body } = await world.post('/par', parametersOf('web'), 'web');
      const query = new URLSearchParams({ client_id: 'web', request_uri: JSON.parse(body).request_uri });
      const pushed = { method: 'GET', url: `/authorize?${query}`, headers: {} };
      const request = await world.server.authorization.validate(pushed);
      return () => asResponse(world.server.authorization.complete(request, { subject: 'alice' }));
    },
  },
  {
    sentence: 'RFC 8707 §2 a request for an API is 503 whenever storage fails, never an unknown resource',
    asks: [...CALLER, 'clients.findApis'],
    status: 200,
    outage: OUTAGE,
    arrange: async (world) => () => {
      const resource = { resource: 'https://api.example' };
      return asResponse(world.server.authorization.validate(authorizationRequest('web', resource)));
    },
  },
  {
    sentence: 'RFC 9126 §2 a pushed request is 503 whenever storage fails, and gets no request_uri',
    asks: [...CALLER, 'pending.add'],
    status: 201,
    outage: OPEN_OUTAGE,
    arrange: async (world) => () => world.post('/par', parametersOf('web'), 'web'),
  },
  {
    sentence: 'RFC 9126 §4 a pushed request is 503 whenever storage fails, never an unknown one',
    asks: [...CALLER, 'pending.get'],
    status: 200,
    outage: OUTAGE,
    async arrange(world) {
      const { body } = await world.post('/par', parametersOf('web'), 'web');
      const query = new URLSearchParams({ client_id: 'web', request_uri: JSON.parse(body).request_uri });
      const request = { method: 'GET', url: `/authorize?${query}`, headers: {} };
      return () => asResponse(world.server.authorization.validate(request));
    },
  },
  {
    sentence: 'RFC 7591 §3 a registration is 503 whenever storage fails',
    asks: ['clients.add'],
    status: 201,
    outage: PUBLIC_OUTAGE,
    options: openRegistration(),
    arrange: async (world) => () => postRegistration(world, { redirect_uris: [CALLBACK] }),
  },
  {
    sentence:
      'RFC 7591 §5 a request whose use of a registration cannot be noted is 503, so that it never ends early',
    asks: ['clients.get', 'clients.noteUse', 'pending.add'],
    status: 201,
    outage: OPEN_OUTAGE,
    options: openRegistration(),
    async arrange(world) {
      const { client_id, client_secret } = await register(world);
      world.clock.advance(1);
      const authorization = basic(client_id, client_secret);
      const parameters = { ...parametersOf('web'), client_id, redirect_uri: CALLBACK, scope: 'openid' };
      return () => world.post('/par', parameters, null, { authorization });
    },
  },
  {
    sentence: 'a request that cannot note that the document of its client is valid is 503',
    asks: ['clients.get', 'clients.noteDocument', 'clients.noteUse', 'pending.add'],
    status: 201,
    outage: OPEN_OUTAGE,
    options: {
      fetchDocument: async () => ({
        status: 200,
        contentType: 'application/json',
        body: JSON.stringify({ client_id: DOCUMENT, redirect_uris: [CALLBACK] }),
      }),
      clientDocuments: clientDocuments(),
    },
    async arrange(world) {
      const parameters = {
        ...parametersOf('web'),
        client_id: DOCUMENT,
        redirect_uri: CALLBACK,
        scope: 'openid',
      };
      const url = `/authorize?${new URLSearchParams(parameters)}`;
      const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
      await world.server.authorization.complete(request, { subject: 'alice' });
      world.clock.advance(60 * 60);
      return () => world.post('/par', parameters);
    },
  },
  {
    sentence: 'RFC 7592 §2.1 reading a registration is 503 whenever storage fails, never 401',
    asks: ['clients.get'],
    status: 200,
    outage: PUBLIC_OUTAGE,
    options: openRegistration(),
    async arrange(world) {
      const client = await register(world);
      return () => configure(world, 'GET', client);
    },
  },
  {
    sentence: 'RFC 7592 §2.2 replacing a registration is 503 whenever storage fails',
    asks: ['clients.get', 'clients.replace'],
    status: 200,
    outage: PUBLIC_OUTAGE,
    options: openRegistration(),
    async arrange(world) {
      const client = await register(world);
      const members = { client_id: client.client_id, redirect_uris: [CALLBACK] };
      return () => configure(world, 'PUT', client, members);
    },
  },
  {
    sentence: 'RFC 7592 §2.3 removing a registration is 503 whenever storage fails, never 204',
    asks: ['clients.get', 'clients.remove'],
    status: 204,
    statusOnceDone: 401,
    outage: PUBLIC_OUTAGE,
    options: openRegistration(),
    async arrange(world) {
      const client = await register(world);
      return () => configure(world, 'DELETE', client);
    },
  },
  {
    sentence: 'RFC 7517 §5 the key set is 503 whenever storage fails, never an empty one',
    asks: ['keys.list'],
    status: 200,
    outage: PUBLIC_OUTAGE,
    arrange: async (world) => () => world.send({ method: 'GET', path: '/jwks', headers: {} }),
  },
  {
    sentence: 'grantd §3.6 a preflight is 503 whenever storage fails',
    asks: ['clients.hasRedirectOrigin'],
    status: 204,
    outage: BEARER_OUTAGE,
    arrange: async (world) => () =>
      world.send({ method: 'OPTIONS', path: '/userinfo', headers: { origin: 'https://web.example' } }),
  },
];

/** Methods that no request calls: those of the operator, and those that only a start or an operator calls for keys. */
const NEVER_ASKED = [
  'clients.list',
  'clients.listUnused',
  'clients.removeAll',
  'clients.replaceSecrets',
  'keys.initialize',
  'keys.reseal',
  'keys.rotate',
  // Of requests of devices: device_faults.test.ts.
  'pending.change',
  'pending.getByOtherId',
  // Only operators ask.
  'tokens.descendantsOf',
  // Only hosts ask.
  'tokens.exchangedFor',
];

runScenes(SCENES);

test('grantd §10.2 every storage method that the server calls has been made to fail', async (t) => {
  assert.ok(WHOLE_HOST);
  const store = new BreakableStore(WHOLE_HOST);
  await openWorld(t, {}, { transport: FUNCTION, store });
  const asked = new Set(SCENES.flatMap((scene) => scene.asks));
  assert.deepEqual([...store.methods].filter((method) => !asked.has(method)).sort(), NEVER_ASKED);
});

test('grantd §8.5 a server without keys is 503 while it cannot make them, and goes on once it can', async (t) => {
  for (const method of ['keys.initialize', 'keys.currentKeyId']) {
    for (const failure of FAILURES) {
      const keyless = memoryStorage();
      const store = new BreakableStore({
        name: 'store without keys',
        open: () => ({ storage: keyless, dispose: async () => {} }),
      });
      const world = await openWorld(t);
      const { storage } = await store.open(ISSUER, Date.now);
      const server = serverOn(world, { ...world.storage, keys: storage.keys });
      const body = 'grant_type=client_credentials&client_id=machine&client_secret=the+secret+of+machine';
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const request = { method: 'POST', url: '/token', headers, body };
      store.break(method, failure);
      assert.deepEqual(await server.handle(request), OPEN_OUTAGE, `${method} ${failure}`);
      if (method === 'keys.currentKeyId') await assert.rejects(server.prepare(), StorageFault);
      store.repair();
      assert.equal((await server.handle(request))?.status, 200);
    }
  }
});

test('grantd §8.5 a rotation of keys that cannot be stored is reported to the operator', async (t) => {
  assert.ok(WHOLE_HOST);
  const store = new BreakableStore(WHOLE_HOST);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  for (const failure of FAILURES) {
    store.break('keys.rotate', failure);
    await assert.rejects(world.server.operator.rotateSigningKey('RS256'), StorageFault);
  }
});

test('grantd §8.5 the operations without HTTP reject with a StorageFault while storage fails', async (t) => {
  assert.ok(WHOLE_HOST);
  const store = new BreakableStore(WHOLE_HOST);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  const { access_token } = await world.grant();
  for (const failure of FAILURES) {
    store.break('tokens.getByAccessToken', failure);
    await assert.rejects(world.server.introspectToken(access_token), StorageFault);
    await assert.rejects(world.server.revokeToken(access_token), StorageFault);
    await assert.rejects(world.server.userInfoOf(access_token), StorageFault);
    await assert.rejects(world.server.operator.explainToken(access_token), StorageFault);
    await assert.rejects(world.server.accessTokens.verify(access_token), StorageFault);
  }
});

test('grantd §8.5 a database that is closed is 503 at every endpoint', async (t) => {
  const world = await openWorld(t, {}, { transport: FUNCTION, store: SQLITE });
  const { access_token, refresh_token } = await world.grant();
  await world.storage.close();
  assert.deepEqual(await world.introspect(access_token), OUTAGE);
  assert.deepEqual(await world.introspect(refresh_token), OUTAGE);
  assert.deepEqual(await world.revoke(access_token), OPEN_OUTAGE);
  assert.deepEqual(await world.refresh(refresh_token), OPEN_OUTAGE);
  assert.deepEqual(await world.userInfo(access_token), BEARER_OUTAGE);
});

test('grantd §3.6 a refusal stands though the origin of its page cannot be looked up, but no other origin reads it', async (t) => {
  assert.ok(WHOLE_HOST);
  const store = new BreakableStore(WHOLE_HOST);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  store.break('clients.hasRedirectOrigin', 'rejects');
  const headers = { origin: 'https://web.example', authorization: 'Bearer bad' };
  const { status, headers: answered } = await world.send({ method: 'GET', path: '/userinfo', headers });
  assert.equal(status, 401);
  assert.equal('access-control-allow-origin' in answered, false);
});

test('grantd §8.5 getUserClaims and getSubjectState that reject or throw are 503, wherever they are called', async (t) => {
  const error = new Error(DRIVER_MESSAGE);
  const broken = [() => Promise.reject(error), throwing(error)];
  for (const getUserClaims of broken) {
    const world = await openWorld(t, { oidc: { getUserClaims } });
    assert.deepEqual(await world.userInfo((await world.grant()).access_token), BEARER_OUTAGE);
  }
  for (const fails of broken) {
    let getSubjectState: NonNullable<AuthorizationServerOptions['getSubjectState']> = () => 'active';
    const world = await openWorld(t, { getSubjectState: (subject) => getSubjectState(subject) });
    const { access_token, refresh_token } = await world.grant();
    const code = await world.code();
    const request = await world.server.authorization.validate(authorizationRequest('web'));
    getSubjectState = fails;
    assert.deepEqual(await world.introspect(access_token), OUTAGE);
    assert.deepEqual(await world.introspect(refresh_token), OUTAGE);
    assert.deepEqual(await world.userInfo(access_token), BEARER_OUTAGE);
    assert.deepEqual(await world.refresh(refresh_token), OPEN_OUTAGE);
    assert.deepEqual(await world.redeem(code), OPEN_OUTAGE);
    const approval = world.server.authorization.complete(request, { subject: 'alice' });
    assert.deepEqual(await asResponse(approval), OUTAGE);
    getSubjectState = () => 'active';
    assert.equal((await world.refresh(refresh_token)).status, 200);
    assert.equal((await world.redeem(code)).status, 200);
  }
});

test('grantd §8.6 an unexpected error is 500, and only the operator gets its cause', async (t) => {
  const cause = new Error(DRIVER_MESSAGE);
  for (const introspectionPolicy of [() => Promise.reject(cause), throwing(cause)]) {
    const world = await openWorld(t, { introspectionPolicy });
    const { access_token } = await world.grant();
    assert.deepEqual(
      await world.introspect(access_token),
      errorOf(500, 'server_error', 'an unexpected error'),
    );
    assert.deepEqual(world.events.at(-1), {
      operation: 'introspection',
      clientId: 'api',
      type: 'refused',
      error: 'server_error',
      status: 500,
      reason: 'unexpected',
      cause,
    });
  }
});

test('grantd §8.6 a generator of random bytes that fails is 500 at the token endpoint and at an approval', async (t) => {
  const cause = new Error(DRIVER_MESSAGE);
  const world = await openWorld(t, { random: throwing(cause) });
  const expected = errorOf(500, 'server_error', 'an unexpected error', OPEN_JSON_HEADERS);
  assert.deepEqual(await world.post('/token', { grant_type: 'client_credentials' }, 'machine'), expected);
  const { server } = await openWorld(t);
  const request = await server.authorization.validate(authorizationRequest('web'));
  const approval = world.server.authorization.complete(request, { subject: 'alice' });
  assert.deepEqual(await asResponse(approval), errorOf(500, 'server_error', 'an unexpected error'));
  const event = world.events.at(-1);
  assert.ok(event?.type === 'refused');
  assert.equal(event.cause, cause);
});

test('grantd §10.2 null from a host is absence: no client, no token, no code, no key', async (t) => {
  const world = await openWorld(t);
  const { access_token, refresh_token } = await world.grant();
  const code = await world.code();
  const request = (path: string, form: Readonly<Record<string, string>>) => ({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });
  const web = { client_id: 'web', client_secret: 'the secret of web' };
  const { clients, tokens, authorizationCodes, keys } = world.storage;
  const nothing = () => null;

  const tokenless = serverOn(world, {
    ...world.storage,
    tokens: { ...tokens, getByAccessToken: nothing, getByRefreshToken: nothing },
    authorizationCodes: { ...authorizationCodes, get: nothing },
  });
  for (const token of [access_token, refresh_token]) {
    assert.deepEqual(await tokenless.handle(request('/token/introspect', { token, ...web })), INACTIVE);
    assert.equal((await tokenless.handle(request('/token/revoke', { token, ...web })))?.status, 200);
  }
  const refresh = { grant_type: 'refresh_token', refresh_token, ...web };
  assert.equal((await tokenless.handle(request('/token', refresh)))?.status, 400);
  const redeem = { grant_type: 'authorization_code', code, ...web };
  assert.equal((await tokenless.handle(request('/token', redeem)))?.status, 400);
  const revoke = { token: code, token_type_hint: 'auth_code', ...web };
  assert.equal((await tokenless.handle(request('/token/revoke', revoke)))?.status, 200);
  const url = '/userinfo';
  const headers = { authorization: `Bearer ${access_token}` };
  assert.equal((await tokenless.handle({ method: 'GET', url, headers }))?.status, 401);

  const clientless = serverOn(world, { ...world.storage, clients: { ...clients, get: nothing } });
  assert.equal((await clientless.handle(request('/token', redeem)))?.status, 401);
  const authorization = clientless.authorization.validate(authorizationRequest('web'));
  assert.equal((await asResponse(authorization)).status, 400);

  let current: string | null = null;
  const keyless = serverOn(world, {
    ...world.storage,
    keys: {
      ...keys,
      currentKeyId: () => current,
      initialize: async () => {
        current = (await keys.currentKeyId('RS256')) ?? null;
      },
    },
  });
  const machine = { client_id: 'machine', client_secret: 'the secret of machine' };
  const issued = await keyless.handle(request('/token', { grant_type: 'client_credentials', ...machine }));
  assert.equal(issued?.status, 200);
});

test('grantd §10.5 repositories may be frozen, or hold their state in private members', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const { clients, tokens, authorizationCodes, keys } = world.storage;
  class PrivateTokens implements IssuingTokenRepository {
    readonly #tokens = tokens;
    getByAccessToken(...args: Parameters<IssuingTokenRepository['getByAccessToken']>) {
      return this.#tokens.getByAccessToken(...args);
    }
    readonly getByRefreshToken = tokens.getByRefreshToken;
    readonly isRefreshTokenRevoked = tokens.isRefreshTokenRevoked;
    readonly revoke = tokens.revoke;
    readonly issue = tokens.issue;
    readonly rotate = tokens.rotate;
    readonly issueFrom = tokens.issueFrom;
    readonly revokeFamily = tokens.revokeFamily;
  }
  const frozen = serverOn(world, {
    clients: Object.freeze({ ...clients }),
    tokens: Object.freeze({ ...tokens }),
    authorizationCodes: Object.freeze({ ...authorizationCodes }),
    keys: Object.freeze({ ...keys }),
  });
  assert.equal((await frozen.introspectToken(access_token)).active, true);
  const withPrivateMembers = serverOn(world, { ...world.storage, tokens: new PrivateTokens() });
  assert.equal((await withPrivateMembers.introspectToken(access_token)).active, true);
});

test('grantd §2.4 a record whose expiry is past or zero is dead, and one that is no number a fault', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const { tokens } = world.storage;
  for (const expiresAt of [world.clock.seconds + 1, Number.NaN, -1, 0]) {
    const server = serverOn(world, {
      ...world.storage,
      tokens: {
        ...tokens,
        async getByAccessToken(id) {
          const record = await tokens.getByAccessToken(id);
          return record && { ...record, expiresAt };
        },
      },
    });
    const result = server.introspectToken(access_token).then(({ active }) => active);
    if (Number.isNaN(expiresAt)) await assert.rejects(result, StorageFault);
    else assert.equal(await result, expiresAt > 0, String(expiresAt));
  }
});

test('grantd §3.1 a body that the host has parsed is a form by its media type too', async (t) => {
  const world = await openWorld(t);
  const { access_token: token } = await world.grant();
  const body = { token, client_id: 'web', client_secret: 'the secret of web' };
  const post = (contentType: string | undefined, parsed: Readonly<Record<string, unknown>>) =>
    world.server.handle({
      method: 'POST',
      url: '/token/revoke',
      headers: contentType === undefined ? {} : { 'content-type': contentType },
      body: parsed,
    });
  const description = 'the content type must be application/x-www-form-urlencoded';
  const refused = (text: string) => errorOf(400, 'invalid_request', text, OPEN_JSON_HEADERS);
  for (const contentType of ['application/json', 'multipart/form-data; boundary=x', '']) {
    assert.deepEqual(await post(contentType, body), refused(description));
  }
  const form = 'application/x-www-form-urlencoded; charset=utf-8';
  assert.deepEqual(await post(form, { ...body, token: [token, token] }), refused('a parameter is repeated'));
  assert.deepEqual(await post(form, { ...body, token: { a: 'x' } }), refused('a parameter must be a string'));
  assert.deepEqual(await post(form, { ...body, token: '' }), refused('the parameter token is missing'));
  assert.deepEqual(await post(form, { ...body, token: [token] }), refused('a parameter must be a string'));
  assert.deepEqual(await world.alive(token), [true]);
  assert.equal((await post(form, body))?.status, 200);
  assert.deepEqual(await world.alive(token), [false]);
  assert.equal((await post(undefined, body))?.status, 200);
});

/** A server over other storage, with the clock of a world. */
function serverOn({ clock }: World, storage: AuthorizingStorage): AuthorizationServer {
  const oidc = { getUserClaims: () => ({}) };
  return new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    storage,
    oidc,
    clock: clock.read,
    onEvent: () => {},
  });
}

function throwing(error: Error): () => never {
  return () => {
    throw error;
  };
}

function authorizationRequest(clientId: 'web', more: Readonly<Record<string, string>> = {}) {
  const query = new URLSearchParams({ ...parametersOf(clientId), ...more });
  return { method: 'GET', url: `/authorize?${query}`, headers: {} };
}

function parametersOf(clientId: 'web') {
  return {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: 'https://web.example/callback',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid',
  };
}
