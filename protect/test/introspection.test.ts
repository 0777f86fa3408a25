// § refers to RFC 7662.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  AccessTokenIntrospector,
  type AccessTokenIntrospectorOptions,
  AuthorizationServerFault,
  ConfigurationError,
  type IntrospectionCredentials,
  OAuthError,
} from '@grantd/protect';
import { exportJWK } from 'jose';
import { clientKey } from '../../core/test/harness/client_keys.ts';
import { addClient } from '../../core/test/harness/token_endpoint.ts';
import { CLIENTS, ISSUER, openWorld, secretOf } from '../../core/test/harness/world.ts';
import { API, AskedServer, apiToken, CREDENTIALS, OUTAGES } from './harness/resource_server.ts';

const INTROSPECTION = '/token/introspect';
const METADATA = '/.well-known/oauth-authorization-server';

/** An API that introspects each token at a world's server. */
async function openApi(t: TestContext, options: Partial<AccessTokenIntrospectorOptions> = {}) {
  const world = await openWorld(t);
  const asked = new AskedServer(world);
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    audience: API,
    credentials: CREDENTIALS,
    fetch: asked.fetch,
    clock: world.clock.read,
    ...options,
  });
  return { world, asked, tokens };
}

async function refusal(promise: Promise<unknown>): Promise<readonly [string, string | undefined]> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OAuthError) return [error.code, error.reason];
    throw error;
  }
  return assert.fail('the token was let through');
}

const NOT_ACTIVE = ['invalid_token', 'not_active'];

test('§2.2 an active token is described by the response of the endpoint in the metadata', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world, 'read write');
  const { active, ...described } = JSON.parse((await world.introspect(token)).body);
  assert.deepEqual(await tokens.verify(token), {
    sub: 'machine',
    clientId: 'machine',
    scopes: ['read', 'write'],
    expiresAt: described.exp,
    claims: { active: true, ...described },
  });
  assert.equal(active, true);
  assert.deepEqual(asked.paths, [METADATA, INTROSPECTION]);
});

test('an opaque token is as good as a JWT', async (t) => {
  const world = await openWorld(t, { accessTokenFormat: 'opaque' });
  const { fetch } = new AskedServer(world);
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    credentials: CREDENTIALS,
    fetch,
    clock: world.clock.read,
  });
  const token = await apiToken(world);
  assert.match(token, /^grantd_at_/);
  assert.equal((await tokens.verify(token)).clientId, 'machine');
});

test('without a cache a revocation is seen by the next request', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world);
  await tokens.verify(token);
  await tokens.verify(token);
  assert.equal(asked.count(INTROSPECTION), 2);
  await world.revoke(token, 'machine');
  assert.deepEqual(await refusal(tokens.verify(token)), NOT_ACTIVE);
});

test('with a cache a revocation is seen within its seconds, counted from the question', async (t) => {
  const { world, asked, tokens } = await openApi(t, { cache: { maxSeconds: 10 } });
  const token = await apiToken(world);
  await tokens.verify(token);
  await world.revoke(token, 'machine');
  world.clock.nowMs += 9_999;
  await tokens.verify(token);
  assert.equal(asked.count(INTROSPECTION), 1);
  world.clock.nowMs += 1;
  assert.deepEqual(await refusal(tokens.verify(token)), NOT_ACTIVE);
  assert.equal(asked.count(INTROSPECTION), 2);
});

test('a cache believes no token beyond its expiry', async (t) => {
  const { world, tokens } = await openApi(t, { cache: { maxSeconds: 3600 } });
  const token = await apiToken(world);
  const { expiresAt = 0 } = await tokens.verify(token);
  world.clock.nowMs = expiresAt * 1000 - 1;
  await tokens.verify(token);
  world.clock.nowMs = expiresAt * 1000;
  assert.deepEqual(await refusal(tokens.verify(token)), NOT_ACTIVE);
});

test('a cache contains neither inactive tokens nor outages', async (t) => {
  const { world, asked, tokens } = await openApi(t, { cache: { maxSeconds: 60 } });
  assert.deepEqual(await refusal(tokens.verify('unknown')), NOT_ACTIVE);
  assert.deepEqual(await refusal(tokens.verify('unknown')), NOT_ACTIVE);
  assert.equal(asked.count(INTROSPECTION), 2);
  const token = await apiToken(world);
  asked.outage = OUTAGES[0];
  await assert.rejects(tokens.verify(token), AuthorizationServerFault);
  asked.outage = undefined;
  assert.equal((await tokens.verify(token)).clientId, 'machine');
});

test('a cache holds no more tokens than it may', async (t) => {
  const { world, asked, tokens } = await openApi(t, { cache: { maxSeconds: 60, maxTokens: 4 } });
  const issued = await Promise.all([1, 2, 3, 4, 5].map(() => apiToken(world)));
  for (const token of issued) await tokens.verify(token);
  await tokens.verify(issued[4] ?? '');
  assert.equal(asked.count(INTROSPECTION), 5);
  await tokens.verify(issued[0] ?? '');
  assert.equal(asked.count(INTROSPECTION), 6);
});

test('requests with one token that come together share a question, those with another do not', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const [first, second] = [await apiToken(world), await apiToken(world)];
  await Promise.all([first, first, second, first, first].map((token) => tokens.verify(token)));
  assert.equal(asked.count(INTROSPECTION), 2);
  assert.equal(asked.count(METADATA), 1);
});

test('a request that arrives during an introspection waits for the next one, which all waiting requests share', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world);
  await tokens.verify(token);
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  asked.outage = async (url, init) => {
    asked.outage = undefined;
    const answer = await asked.answer(url, init);
    arrived.resolve();
    await released.promise;
    return answer;
  };
  const early = tokens.verify(token);
  await arrived.promise;
  await world.revoke(token, 'machine');
  const late = [1, 2, 3].map(() => refusal(tokens.verify(token)));
  released.resolve();
  assert.equal((await early).clientId, 'machine');
  assert.deepEqual(await Promise.all(late), [NOT_ACTIVE, NOT_ACTIVE, NOT_ACTIVE]);
  assert.equal(asked.count(INTROSPECTION), 3, 'the first, the early one, and one for all that were late');
});

test('a request that arrives during an introspection does not fail with it, but shares the next one', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world);
  await tokens.verify(token);
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  asked.outage = async () => {
    asked.outage = undefined;
    arrived.resolve();
    await released.promise;
    throw new TypeError('fetch failed');
  };
  const early = tokens.verify(token);
  await arrived.promise;
  const late = [1, 2, 3].map(() => tokens.verify(token));
  released.resolve();
  await assert.rejects(early, AuthorizationServerFault);
  for (const { clientId } of await Promise.all(late)) assert.equal(clientId, 'machine');
  assert.equal(asked.count(INTROSPECTION), 3, 'the first, the early one, and one for all that were late');
});

test('everything except a valid response is a fault, never a refusal', async (t) => {
  const { world, asked, tokens } = await openApi(t);
  const token = await apiToken(world);
  await tokens.verify(token);
  const unreadable = [
    {},
    { active: 'true' },
    { active: true, exp: 'soon' },
    { active: true, scope: ['read'] },
  ];
  const others = unreadable.map((body) => async () => Response.json(body));
  for (const outage of [...OUTAGES, ...others]) {
    asked.outage = outage;
    await assert.rejects(tokens.verify(token), AuthorizationServerFault, outage.name);
  }
  asked.outage = undefined;
  assert.equal((await tokens.verify(token)).clientId, 'machine');
});

test('a missing response ends at the time limit, even if fetch ignores its signal', async (t) => {
  const { asked, tokens } = await openApi(t, { timeoutMs: 20 });
  asked.outage = () => new Promise(() => {});
  const before = performance.now();
  await assert.rejects(tokens.verify('token'), AuthorizationServerFault);
  assert.ok(performance.now() - before < 5000);
});

test('however many tokens come, so many questions are under way and no more; a token too many is a fault at once', async (t) => {
  const { asked, tokens } = await openApi(t, {
    maxConcurrentRequests: 3,
    introspectionEndpoint: ISSUER + INTROSPECTION,
  });
  const silence = Promise.withResolvers<void>();
  asked.outage = async () => {
    await silence.promise;
    return Response.json({ active: false });
  };
  const first = ['a', 'b', 'c'].map((token) => refusal(tokens.verify(token)));
  const again = refusal(tokens.verify('a'));
  await assert.rejects(tokens.verify('d'), AuthorizationServerFault);
  await assert.rejects(tokens.verify('e'), AuthorizationServerFault);
  assert.equal(asked.count(INTROSPECTION), 3);
  silence.resolve();
  assert.deepEqual(await Promise.all([...first, again]), [NOT_ACTIVE, NOT_ACTIVE, NOT_ACTIVE, NOT_ACTIVE]);
  assert.deepEqual(await refusal(tokens.verify('d')), NOT_ACTIVE);
  assert.equal(asked.count(INTROSPECTION), 4);
});

test('by default at most 256 introspections are pending', async (t) => {
  const { asked, tokens } = await openApi(t, {
    introspectionEndpoint: ISSUER + INTROSPECTION,
    timeoutMs: 50,
  });
  asked.outage = () => new Promise(() => {});
  const outcomes = await Promise.allSettled(
    Array.from({ length: 300 }, (_, index) => tokens.verify(`token ${index}`)),
  );
  for (const outcome of outcomes)
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof AuthorizationServerFault);
  assert.equal(asked.count(INTROSPECTION), 256);
});

test('wrong credentials of the API are a fault, not a refusal of its caller', async (t) => {
  const { world, tokens } = await openApi(t, { credentials: { clientId: 'api', clientSecret: 'wrong' } });
  const token = await apiToken(world);
  await assert.rejects(tokens.verify(token), AuthorizationServerFault);
});

test('each way of authenticating is understood by the server', async (t) => {
  const world = await openWorld(t);
  const { privateKey, publicJwk } = await clientKey('ES256');
  await addClient(world, {
    ...CLIENTS.api,
    id: 'api: with a key & 100%',
    resource: 'https://keys.example',
    metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
  });
  const privateJwk = { ...(await exportJWK(privateKey)), kid: publicJwk.kid ?? '', alg: 'ES256' };
  const ways: readonly IntrospectionCredentials[] = [
    { method: 'client_secret_basic', ...CREDENTIALS },
    { method: 'client_secret_post', ...CREDENTIALS },
    { method: 'private_key_jwt', clientId: 'api: with a key & 100%', privateKey: privateJwk },
  ];
  const token = await apiToken(world);
  for (const credentials of ways) {
    const { fetch } = new AskedServer(world);
    const { read: clock } = world.clock;
    const tokens = new AccessTokenIntrospector({ issuer: ISSUER, credentials, fetch, clock });
    for (let nth = 0; nth < 2; nth++)
      assert.equal((await tokens.verify(token)).sub, 'machine', credentials.method ?? 'by default');
  }
});

test('a private key that could not be made ready is tried again by the next question', async (t) => {
  const world = await openWorld(t);
  const { privateKey, publicJwk } = await clientKey('ES256');
  await addClient(world, {
    ...CLIENTS.api,
    id: 'signing',
    resource: 'https://signing.example',
    metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
  });
  const { kty, ...numbers } = await exportJWK(privateKey);
  let isAway = true;
  const privateJwk = {
    ...numbers,
    alg: 'ES256',
    get kty() {
      return isAway ? 'away' : String(kty);
    },
  };
  const { fetch } = new AskedServer(world);
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    credentials: { method: 'private_key_jwt', clientId: 'signing', privateKey: privateJwk },
    fetch,
    clock: world.clock.read,
  });
  const token = await apiToken(world);
  await assert.rejects(tokens.verify(token));
  isAway = false;
  assert.equal((await tokens.verify(token)).sub, 'machine');
});

test('§2.2 an active token that is no access token for this API is refused', async (t) => {
  const { world, asked, tokens } = await openApi(t, { audience: [API, ISSUER] });
  const { refresh_token: refreshToken } = await world.grant();
  assert.deepEqual(JSON.parse((await world.introspect(refreshToken)).body).active, true);
  assert.deepEqual(await refusal(tokens.verify(refreshToken)), ['invalid_token', 'wrong_type']);

  const active = { active: true, token_type: 'Bearer', aud: API, iss: ISSUER, exp: world.clock.seconds + 1 };
  const cases: readonly (readonly [object, string])[] = [
    [{ token_type: undefined }, 'wrong_type'],
    [{ token_type: 'DPoP' }, 'wrong_type'],
    [{ cnf: { jkt: 'thumbprint' } }, 'wrong_type'],
    [{ cnf: { jkt: 'thumbprint' }, token_type: 'DPoP' }, 'token_bound'],
    [{ cnf: { 'x5t#S256': 'certificate' } }, 'client_certificate_missing'],
    [{ cnf: { kid: 'key' } }, 'confirmation_unknown'],
    [{ aud: 'https://mail.example' }, 'audience_wrong'],
    [{ aud: undefined }, 'audience_wrong'],
    [{ iss: 'https://evil.example' }, 'wrong_issuer'],
    [{ exp: world.clock.seconds }, 'expired'],
  ];
  for (const [change, reason] of cases) {
    asked.outage = async () => Response.json({ ...active, ...change });
    assert.deepEqual(
      await refusal(tokens.verify('token')),
      ['invalid_token', reason],
      JSON.stringify(change),
    );
  }
  asked.outage = async () =>
    Response.json({ ...active, token_type: 'bearer', iss: undefined, exp: undefined });
  assert.deepEqual((await tokens.verify('token')).expiresAt, undefined);
});

test('§2.2 an API with a fast clock accepts tokens within its leeway, and introspects each', async (t) => {
  const { world, asked, tokens } = await openApi(t, { clockTolerance: 30, cache: { maxSeconds: 60 } });
  await tokens.verify(await apiToken(world));
  const answer = (exp: number) => async () =>
    Response.json({ active: true, token_type: 'Bearer', aud: API, exp });
  const before = asked.count(INTROSPECTION);
  asked.outage = answer(world.clock.seconds - 29);
  await tokens.verify('token');
  await tokens.verify('token');
  assert.equal(asked.count(INTROSPECTION), before + 2, 'nothing is remembered beyond the expiry');
  asked.outage = answer(world.clock.seconds - 30);
  assert.deepEqual(await refusal(tokens.verify('token')), ['invalid_token', 'expired']);
});

test('a server that never returns the type of a token is trusted if the host allows it', async (t) => {
  const { asked, tokens } = await openApi(t, { allowMissingTokenType: true });
  await tokens.verify('token').catch(() => undefined);
  asked.outage = async () => Response.json({ active: true, aud: API });
  assert.deepEqual(await tokens.verify('token'), {
    sub: undefined,
    clientId: undefined,
    scopes: [],
    expiresAt: undefined,
    claims: { active: true, aud: API },
  });
});

test('a huge token is refused without asking anybody', async (t) => {
  const { asked, tokens } = await openApi(t);
  assert.deepEqual(await refusal(tokens.verify('a'.repeat(16 * 1024 + 1))), ['invalid_token', 'malformed']);
  assert.deepEqual(asked.paths, []);
});

test('an endpoint that is given spares the metadata; options that do not fit are refused at once', async (t) => {
  const { world, asked, tokens } = await openApi(t, { introspectionEndpoint: ISSUER + INTROSPECTION });
  await tokens.verify(await apiToken(world));
  assert.deepEqual(asked.paths, [INTROSPECTION]);

  const cases: readonly (readonly [object, string])[] = [
    [{ introspectionEndpoint: 'nowhere' }, 'introspectionEndpoint'],
    [{ credentials: { clientId: 'api', clientSecret: '' } }, 'credentials'],
    [{ credentials: { method: 'private_key_jwt', clientId: 'api', privateKey: {} } }, 'credentials'],
    [{ cache: { maxSeconds: Infinity } }, 'cache.maxSeconds'],
    [{ cache: { maxSeconds: 1, maxTokens: 0 } }, 'cache.maxTokens'],
    [{ maxConcurrentRequests: 0 }, 'maxConcurrentRequests'],
    [{ clockTolerance: -1 }, 'clockTolerance'],
    [{ clockTolerance: 301 }, 'clockTolerance'],
    [{ maxConcurrentRequests: Infinity }, 'maxConcurrentRequests'],
  ];
  for (const [change, option] of cases) {
    assert.throws(
      () => new AccessTokenIntrospector({ issuer: ISSUER, credentials: CREDENTIALS, ...change }),
      (error) => error instanceof ConfigurationError && error.option === option,
      option,
    );
  }
});

test('redirects are not followed: credentials and tokens go nowhere else', async (t) => {
  const { asked, tokens } = await openApi(t);
  const redirects: unknown[] = [];
  asked.outage = (url, init) => {
    redirects.push(init.redirect);
    return asked.answer(url, init);
  };
  await tokens.verify('token').catch(() => undefined);
  assert.deepEqual(redirects, ['manual', 'manual']);
});

test('RFC 6749 §2.3.1 identifier and secret are encoded before they are joined', async (t) => {
  const world = await openWorld(t);
  const clientId = 'an API: 100%+';
  await addClient(world, { ...CLIENTS.api, id: clientId, resource: 'https://odd.example' });
  const { fetch } = new AskedServer(world);
  const credentials = { clientId, clientSecret: secretOf(clientId) };
  const tokens = new AccessTokenIntrospector({ issuer: ISSUER, credentials, fetch, clock: world.clock.read });
  assert.equal((await tokens.verify(await apiToken(world))).sub, 'machine');
});
