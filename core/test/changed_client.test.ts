import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import {
  addSigningClient,
  codeIn,
  exactly,
  formOf,
  type Parameters,
  redirected,
  refused,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { approvedCode, askForTokens, grantTo } from './harness/granting.ts';
import { errorOf, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { addClient } from './harness/token_endpoint.ts';
import { basic, CLIENTS, openWorld, VERIFIER, type World, type WorldOptions } from './harness/world.ts';

/** Identifiers and permissions are fixed in one step, even if the client is registered anew before the next step. */

const OPTIONS: WorldOptions = { pairwiseSecret: 'the secret of pairwise subjects, which never changes' };
const PAIRWISE = { subject_type: 'pairwise' } as const;
const APP: NewClient = {
  ...CLIENTS.web,
  id: 'app',
  scopes: ['openid'],
  redirectUris: ['https://app.example/cb'],
};
const VICTIM = 'https://victim.example/cb';

const BARE = {
  ...USUAL,
  client_id: 'app',
  redirect_uri: 'https://app.example/cb',
  scope: undefined,
  state: undefined,
};

const invalidGrant = (description: string) => errorOf(400, 'invalid_grant', description, OPEN_JSON_HEADERS);

async function openApp(t: TestContext, client: Partial<NewClient> = {}, options: WorldOptions = {}) {
  const world = await openWorld(t, { ...OPTIONS, ...options });
  await addClient(world, { ...APP, ...client });
  return world;
}

/** Like a client's `PUT` (RFC 7592 §2.2): the secret stays, everything else is replaced. */
async function registerAnew({ storage }: World, client: Partial<NewClient>): Promise<void> {
  const before = await storage.clients.get('app');
  assert.ok(before);
  const kept = before.secrets === undefined ? {} : { secrets: before.secrets };
  assert.ok(await storage.clients.replace({ ...APP, ...kept, ...client }, before));
}

const asked = (world: World, parameters: Parameters = {}) =>
  world.server.authorization.validate(exactly({ ...BARE, ...parameters }));

const redeem = (world: World, code: string, redirect_uri: string = BARE.redirect_uri) =>
  askForTokens(world, 'app', {
    grant_type: 'authorization_code',
    code,
    redirect_uri,
    code_verifier: VERIFIER,
  });

test('a request without scope gets the client’s scopes at its start, whatever the client registers later', async (t) => {
  const world = await openApp(t);
  const request = await asked(world);
  await registerAnew(world, { scopes: ['openid', 'profile', 'email', 'offline_access'] });
  const resumed = await world.server.authorization.resume(request.parameters);
  assert.deepEqual(resumed.scopes, ['openid']);
  const { headers } = await world.server.authorization.complete(resumed, { subject: 'alice' });
  const code = codeIn({ status: 303, headers, body: '' });
  assert.equal(JSON.parse((await redeem(world, code)).body).scope, 'openid');
});

test('a request of a client without scopes stays one without scopes', async (t) => {
  const world = await openApp(t, { scopes: [] });
  const request = await asked(world);
  await registerAnew(world, { scopes: ['openid', 'profile'] });
  assert.deepEqual((await world.server.authorization.resume(request.parameters)).scopes, []);
});

test('RFC 6749 §3.3 a scope that the client had at first and has no more is left out, or refused if strict', async (t) => {
  const world = await openApp(t, { scopes: ['openid', 'email'] });
  const request = await asked(world);
  await registerAnew(world, { scopes: ['openid'] });
  const resumed = await world.server.authorization.resume(request.parameters);
  assert.deepEqual(resumed.scopes, ['openid']);
  await registerAnew(world, { scopes: ['openid'], metadata: { strict_scopes: true } });
  assert.deepEqual(
    await refused(world.server.authorization.resume(request.parameters)),
    redirected('invalid_scope', 'a scope is not allowed', { to: BARE.redirect_uri, state: null }),
  );
});

test('the registration at the start also decides max_age, acr_values and the target of the response', async (t) => {
  const metadata = { default_max_age: 60, default_acr_values: ['gold', 'silver'] };
  const world = await openApp(t, { metadata, scopes: ['read'] });
  const request = await asked(world, { redirect_uri: undefined });
  assert.deepEqual([request.redirectUri, request.redirectUriGiven], [BARE.redirect_uri, false]);
  await registerAnew(world, {
    scopes: ['read'],
    metadata: { default_max_age: 9000, default_acr_values: ['tin'] },
    redirectUris: [VICTIM, BARE.redirect_uri],
  });
  const { client: _, ...resumed } = await world.server.authorization.resume(request.parameters);
  const { client: __, ...first } = request;
  assert.deepEqual(resumed, first);
  assert.deepEqual([resumed.maxAge, resumed.acrValues], [60, ['gold', 'silver']]);

  await registerAnew(world, { redirectUris: [VICTIM] });
  assert.deepEqual(
    await refused(world.server.authorization.resume(request.parameters)),
    shown('invalid_request', 'the redirect_uri is not registered for this client'),
  );
});

test('RFC 6749 §4.1.3 a redirect URI that was left out may be left out at redemption, also of a request that went on later', async (t) => {
  const world = await openApp(t, { scopes: ['read'] });
  const first = await asked(world, { redirect_uri: undefined });
  const { server } = world;
  const resumed = await server.authorization.resume(
    (await server.authorization.resume(first.parameters)).parameters,
  );
  assert.deepEqual(resumed, first);
  const code = codeIn(await server.authorization.complete(resumed, { subject: 'alice' }));
  const fields = { grant_type: 'authorization_code', code, code_verifier: VERIFIER };
  assert.equal((await askForTokens(world, 'app', fields)).status, 200);
});

test('a client cannot say by itself that its redirect URI was left out', async (t) => {
  const world = await openApp(t);
  for (const redirect_uri_omitted of ['', 'true']) {
    const { redirectUriGiven } = await asked(world, { redirect_uri_omitted });
    assert.equal(redirectUriGiven, true);
  }
});

test('RFC 9126 §2.1 a pushed request is what it was when it was pushed', async (t) => {
  const world = await openApp(t);
  const push = async () => {
    const { status, body } = await world.send({
      method: 'POST',
      path: '/par',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basic('app'),
      },
      body: formOf(BARE).toString(),
    });
    assert.equal(status, 201, body);
    return exactly({ client_id: 'app', request_uri: JSON.parse(body).request_uri });
  };
  const [wider, narrower, elsewhere] = [await push(), await push(), await push()];
  await registerAnew(world, { scopes: ['openid', 'profile'] });
  assert.deepEqual((await world.server.authorization.validate(wider)).scopes, ['openid']);
  await registerAnew(world, { scopes: ['profile'] });
  assert.deepEqual(
    await refused(world.server.authorization.validate(narrower)),
    redirected('invalid_scope', 'a scope is not allowed', { to: BARE.redirect_uri, state: null }),
  );
  await registerAnew(world, { redirectUris: [VICTIM] });
  assert.deepEqual(
    await refused(world.server.authorization.validate(elsewhere)),
    shown('invalid_request', 'the redirect_uri is not registered for this client'),
  );
});

test('a signed request stays valid between pages, even if the client has new keys', async (t) => {
  const world = await openWorld(t, OPTIONS);
  const signer = await addSigningClient(world, { ...APP, id: 'app' });
  const { client_id: _, ...claims } = BARE;
  const request = await world.server.authorization.validate(
    exactly({ client_id: 'app', request: await signer.sign({ ...claims, max_age: 30 }) }),
  );
  await registerAnew(world, { scopes: ['openid', 'email'] });
  const { client: __, ...resumed } = await world.server.authorization.resume(request.parameters);
  const { client: ___, ...first } = request;
  assert.deepEqual(resumed, first);
});

test('OpenID Connect Core §8.1 a code keeps the subject identifier from the approval', async (t) => {
  const elsewhere = { metadata: PAIRWISE, redirectUris: [VICTIM] };
  for (const [before, after] of [
    [{ metadata: PAIRWISE }, {}],
    [{}, { metadata: PAIRWISE }],
  ] as const) {
    const world = await openApp(t, before);
    const told = await world.server.subjectIdentifier({ ...APP, ...before }, 'alice');
    const code = await approvedCode(world, 'app');
    await registerAnew(world, after);
    const { body } = await redeem(world, code);
    const { access_token, refresh_token, id_token } = JSON.parse(body);
    const introspected = JSON.parse((await world.introspect(access_token)).body);
    await registerAnew(world, elsewhere);
    const refreshed = await askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token });
    assert.deepEqual(
      [id_token, access_token, JSON.parse(refreshed.body).id_token].map((token) => decodeJwt(token).sub),
      [told, told, told],
    );
    assert.equal(introspected.sub, told);
    assert.equal(JSON.parse((await world.userInfo(access_token)).body).sub, told);
    assert.equal(introspected.username, undefined, 'a name would undo it');
  }
});

test('OpenID Connect Core §8.1 a code is worth nothing once its redirect URI is not the client’s any more', async (t) => {
  const world = await openApp(t, { metadata: PAIRWISE });
  const code = await approvedCode(world, 'app');
  await registerAnew(world, { metadata: PAIRWISE, redirectUris: [VICTIM] });
  assert.deepEqual(await redeem(world, code), invalidGrant('the redirect_uri is no longer registered'));
  assert.equal(world.lastReason, 'redirect_uri_mismatch');
  await registerAnew(world, { metadata: PAIRWISE });
  assert.equal((await redeem(world, code)).status, 200, 'it was not used up');
});

test('RFC 8252 §7.3 the port of a loopback address may vary there too', async (t) => {
  const world = await openApp(t, { redirectUris: ['http://127.0.0.1:4001/cb'] });
  const redirect_uri = 'http://127.0.0.1:53211/cb';
  const code = await approvedCode(world, 'app', { request: { redirect_uri } });
  await registerAnew(world, { redirectUris: ['http://127.0.0.1/cb'] });
  assert.equal((await redeem(world, code, redirect_uri)).status, 200);
});

test('RFC 6749 §4.1.2 a code that is used again still ends what it led to, also at another redirect URI', async (t) => {
  const world = await openApp(t);
  const code = await approvedCode(world, 'app');
  const { body } = await redeem(world, code);
  await registerAnew(world, { redirectUris: [VICTIM] });
  assert.deepEqual(await redeem(world, code), invalidGrant('the authorization code is not valid'));
  assert.deepEqual(await world.alive(JSON.parse(body).access_token), [false]);
});

test('RFC 9700 §2.1.1 a code without a challenge is worth nothing to a client that has become a public one', async (t) => {
  const world = await openApp(t, { metadata: { insecure_allow_missing_pkce: true } });
  const request = await asked(world, { code_challenge: undefined, code_challenge_method: undefined });
  const code = codeIn(await world.server.authorization.complete(request, { subject: 'alice' }));
  const metadata = { token_endpoint_auth_method: 'none' } as const;
  await registerAnew(world, { metadata });
  const form = { grant_type: 'authorization_code', code, redirect_uri: BARE.redirect_uri, client_id: 'app' };
  assert.deepEqual(
    await world.post('/token', form),
    invalidGrant('the authorization request had no code_challenge'),
  );
  assert.equal(world.lastReason, 'pkce_missing');
});

test('RFC 9700 §2.1.1 a code without a challenge is worth nothing once PKCE is waived no more', async (t) => {
  const world = await openApp(t, { metadata: { insecure_allow_missing_pkce: true } });
  const request = await asked(world, { code_challenge: undefined, code_challenge_method: undefined });
  const code = codeIn(await world.server.authorization.complete(request, { subject: 'alice' }));
  await registerAnew(world, {});
  const form = { grant_type: 'authorization_code', code, redirect_uri: BARE.redirect_uri };
  const answer = await world.post('/token', form, null, { authorization: basic('app') });
  assert.deepEqual(answer, invalidGrant('the authorization request had no code_challenge'));
});

test('RFC 6749 §3.2.1 a code is redeemed in the way that the client is registered for by then', async (t) => {
  const world = await openApp(t);
  const code = await approvedCode(world, 'app');
  await registerAnew(world, { metadata: { token_endpoint_auth_method: 'client_secret_post' } });
  assert.equal((await redeem(world, code)).status, 401);
  await registerAnew(world, {});
  assert.equal((await redeem(world, code)).status, 200);
});

test('a client that is disabled between two steps gets nothing, and what waited is void when it is enabled again', async (t) => {
  const world = await openApp(t);
  const request = await asked(world);
  const code = await approvedCode(world, 'app');
  const { refresh_token } = await grantTo(world, 'app');
  await world.storage.setDisabled('client', 'app', true);
  const gone = shown('invalid_request', 'the client is disabled');
  assert.deepEqual(await refused(world.server.authorization.resume(request.parameters)), gone);
  assert.deepEqual(
    await refused(world.server.authorization.complete(request, { subject: 'alice' })),
    redirected('access_denied', 'the authorization was revoked', { to: BARE.redirect_uri, state: null }),
  );
  assert.equal((await redeem(world, code)).status, 401);
  await world.storage.setDisabled('client', 'app', false);
  const refreshed = await askForTokens(world, 'app', { grant_type: 'refresh_token', refresh_token });
  for (const { status, body } of [refreshed, await redeem(world, code)])
    assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_grant']);
});
