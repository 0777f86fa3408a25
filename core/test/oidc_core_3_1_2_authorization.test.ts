// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Approval, AuthorizationRequest, HttpResponse, NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import { sha256 } from '#crypto';
import {
  accepted,
  CALLBACK,
  codeIn,
  type Parameters,
  redirected,
  refusalOf,
  refused,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { grantTo } from './harness/granting.ts';
import { seedKeys } from './harness/keys.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient } from './harness/token_endpoint.ts';
import { CLIENTS, openWorld, specification, type World, type WorldOptions } from './harness/world.ts';

const API = 'https://bank.example';
const PASSWORD = 'urn:example:password';
const KEY = 'urn:example:key';

async function worldWith(
  t: TestContext,
  metadata: NonNullable<NewClient['metadata']>,
  options: WorldOptions = {},
): Promise<World> {
  const world = await openWorld(t, options);
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'own', redirectUris: [CALLBACK], metadata });
  return world;
}

const OWN = { client_id: 'own' };

async function approved(
  { server }: World,
  request: AuthorizationRequest,
  approval: Partial<Approval> = {},
): Promise<HttpResponse> {
  return server.authorization.complete(request, { subject: 'alice', ...approval });
}

/** The record of the code in the redirect. */
async function recordOf(world: World, response: HttpResponse) {
  return world.storage.authorizationCodes.get(await sha256(codeIn(response)));
}

function claims(request: unknown): Parameters {
  return { claims: typeof request === 'string' ? request : JSON.stringify(request) };
}

const NO_HINT = redirected('invalid_request', 'the id_token_hint is not valid');
const NO_CLAIMS = redirected('invalid_request', 'the claims parameter is malformed');
const UNMET = redirected(
  'unmet_authentication_requirements',
  'the requested authentication context cannot be met',
);

// ── Allowed requests ───────────────────────────────────────────────────────────────────────────────────────

test('§3.1.2.1 max_age is the request’s, else what the client registered; 0 is a sign-in now', async (t) => {
  const world = await worldWith(t, { default_max_age: 600 });
  assert.equal((await accepted(world, OWN)).maxAge, 600);
  assert.equal((await accepted(world, { ...OWN, max_age: '0' })).maxAge, 0);
  assert.equal((await accepted(world, { ...OWN, max_age: '86400' })).maxAge, 86400);
  assert.equal('maxAge' in (await accepted(world)), false);
});

test('§3.1.2.1 every prompt is the host’s to obey, select_account among them', async (t) => {
  const world = await openWorld(t);
  const { prompt } = await accepted(world, { prompt: 'select_account consent' });
  assert.deepEqual(prompt, ['select_account', 'consent']);
  const error = redirected('invalid_request', 'the prompt is not allowed');
  assert.deepEqual(await refusalOf(world, { prompt: 'none select_account' }), error);
});

test('§3.1.2.1 ui_locales are language tags in their order; other values are no error', async (t) => {
  const world = await openWorld(t);
  const { uiLocales } = await accepted(world, { ui_locales: 'de-CH  fr <script> en_US zh-Hant-TW ä' });
  assert.deepEqual(uiLocales, ['de-CH', 'fr', 'zh-Hant-TW']);
  assert.deepEqual((await accepted(world)).uiLocales, []);
});

test('§3.1.2.1 acr_values are the claim’s, else the request’s, else what the client registered', async (t) => {
  const world = await worldWith(t, { default_acr_values: [KEY] }, { acrValues: [PASSWORD, KEY] });
  assert.deepEqual((await accepted(world, OWN)).acrValues, [KEY]);
  const asked = { ...OWN, acr_values: `${PASSWORD} urn:example:unknown` };
  assert.deepEqual((await accepted(world, asked)).acrValues, [PASSWORD, 'urn:example:unknown']);
  const both = { ...asked, ...claims({ id_token: { acr: { values: [KEY] } } }) };
  assert.deepEqual((await accepted(world, both)).acrValues, [KEY]);
  assert.deepEqual((await accepted(world)).acrValues, []);
  assert.deepEqual(world.server.serverMetadata.acr_values_supported, [PASSWORD, KEY]);
});

test('§3.1.2.1 a request that is too long for URLs is refused at once', async (t) => {
  const world = await openWorld(t);
  const rest = Object.entries({ ...USUAL, state: '' })
    .join('')
    .replaceAll(',', '').length;
  await accepted(world, { state: 'x'.repeat(6144 - rest) });
  const response = await refusalOf(world, { state: 'x'.repeat(6145 - rest) });
  assert.deepEqual(response, shown('invalid_request', 'the request is longer than 6144 characters'));
  assert.equal(world.lastReason, 'parameters_too_long');
});

test('§3.1.2.1 a character that databases and pages cannot hold is refused in every parameter', async (t) => {
  const world = await openWorld(t);
  for (const name of ['state', 'login_hint', 'acr_values', 'ui_locales', 'display', 'unknown']) {
    const { headers } = await refusalOf(world, { [name]: 'a\0b' });
    const { searchParams } = new URL(String(headers.location));
    assert.equal(searchParams.get('error_description'), 'a parameter contains a NUL character', name);
  }
});

test('§3 implicit and hybrid responses are refused, in any order', async (t) => {
  const world = await openWorld(t);
  for (const response_type of [
    'token',
    'id_token',
    'id_token token',
    'code token',
    'token code',
    'code id_token token',
  ]) {
    for (const nonce of [undefined, 'n']) {
      const response = await refusalOf(world, { response_type, nonce });
      const description = 'only the response_type code is supported';
      assert.deepEqual(response, redirected('unsupported_response_type', description), response_type);
    }
  }
});

test('§3.1.2.5 by fragment, the parameters stand behind the redirect URI and its query', async (t) => {
  const redirectUri = 'https://own.example/cb?tenant=a%20b';
  const world = await openWorld(t);
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'own', redirectUris: [redirectUri] });
  const mode = { ...OWN, redirect_uri: redirectUri, response_mode: 'fragment' };
  const request = await accepted(world, mode);
  const location = String((await approved(world, request)).headers.location);
  assert.match(
    location,
    /^https:\/\/own\.example\/cb\?tenant=a%20b#code=grantd_ac_[\w-]{43}&state=xyz&iss=https%3A%2F%2Fas\.example$/,
  );
  const response = await refusalOf(world, { ...mode, scope: 'admin' });
  const error = redirected('invalid_scope', 'a scope is not allowed', { to: redirectUri, separator: '#' });
  assert.deepEqual(response, error);
});

// ── The requested user ─────────────────────────────────────────────────────────────────────────────────────

specification('Whom an authorization request means (OpenID Connect Core §3.1.2.1)', ON_MEMORY, (spec) => {
  spec(
    '§3.1.2.1 an ID token as a hint names the user whom the response must be about, also long after it has expired',
    async (world) => {
      const { id_token: id_token_hint } = await world.grant();
      world.clock.advance(30 * 24 * 60 * 60);
      const request = await accepted(world, { id_token_hint });
      assert.equal(request.expectedSubject, 'alice');
      assert.equal(await world.server.authorization.isExpectedUser(request, 'alice'), true);
      assert.equal(await world.server.authorization.isExpectedUser(request, 'bob'), false);

      const somebodyElse = await refused(approved(world, request, { subject: 'bob' }));
      assert.deepEqual(somebodyElse, redirected('login_required', 'another user is signed in'));
      assert.equal(world.lastReason, 'other_person');
      const another = await accepted(world, { id_token_hint });
      assert.equal((await recordOf(world, await approved(world, another)))?.subject, 'alice');
    },
  );

  spec(
    '§3.1.2.1 no other text is a hint: not another token of ours, not another client’s, nothing forged',
    async (world) => {
      const { access_token, refresh_token, id_token } = await world.grant();
      const { id_token: foreign } = await world.grant('alice', 'spa');
      const [header = '', payload = '', signature = ''] = id_token.split('.');
      const bob = Buffer.from(JSON.stringify({ ...decodeJwt(id_token), sub: 'bob' })).toString('base64url');
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      for (const id_token_hint of [
        access_token,
        refresh_token,
        foreign,
        `${header}.${bob}.${signature}`,
        `${none}.${bob}.`,
        `${header}.${payload}.`,
        'x',
        '..',
      ]) {
        assert.deepEqual(await refusalOf(world, { id_token_hint }), NO_HINT, id_token_hint);
      }
      assert.equal(world.lastReason, 'id_token_hint_wrong');
    },
  );

  spec(
    '§3.1.2.1 a plain JWT for an API is no hint, even if the API is a client of that name',
    async (world) => {
      await addClient(world, { ...CLIENTS.web, id: API, resource: API });
      await addClient(world, { ...CLIENTS.web, id: 'app', metadata: { apis: [API] } });
      const { access_token } = await grantTo(world, 'app', { request: { resource: API, scope: 'read' } });
      assert.equal(decodeJwt(access_token).aud, API);
      const refusal = await refusalOf(world, { client_id: API, id_token_hint: access_token });
      assert.deepEqual(refusal, NO_HINT);
    },
    { apisWithPlainJwts: [API] },
  );
});

test('§3.1.2.1 an ID token of another issuer is no hint, even if it signs with the same keys', async (t) => {
  const world = await openWorld(t);
  const other = await openWorld(t, { issuer: 'https://other-as.example' });
  await seedKeys(other.storage, other.clock);
  const { id_token: id_token_hint } = await other.grant();
  assert.deepEqual(await refusalOf(world, { id_token_hint }), NO_HINT);
});

test('§5.5.1 sub with a value also decides about the user of the response', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world, claims({ id_token: { sub: { value: 'bob' } } }));
  assert.equal(request.expectedSubject, 'bob');
  const { id_token: id_token_hint } = await world.grant('bob');
  const both = { id_token_hint, ...claims({ id_token: { sub: { value: 'bob' } } }) };
  assert.equal((await accepted(world, both)).expectedSubject, 'bob');

  const two = await refusalOf(world, { id_token_hint, ...claims({ id_token: { sub: { value: 'alice' } } }) });
  assert.deepEqual(
    two,
    redirected('invalid_request', 'id_token_hint and the requested sub name different users'),
  );
  const number = await refusalOf(world, claims({ id_token: { sub: { value: 5 } } }));
  assert.deepEqual(number, redirected('invalid_request', 'the requested sub must be a string'));
});

test('§8 a client with pairwise subjects names users by its own identifiers', async (t) => {
  const pairwiseSecret = 'a secret of pairwise subjects with 32 characters';
  const world = await worldWith(t, { subject_type: 'pairwise' }, { pairwiseSecret });
  const client = await world.storage.clients.get('own');
  assert.ok(client);
  const alice = await world.server.subjectIdentifier(client, 'alice');
  assert.notEqual(alice, 'alice');
  const request = () => accepted(world, { ...OWN, ...claims({ id_token: { sub: { value: alice } } }) });
  assert.match(String((await approved(world, await request())).headers.location), /code=/);
  const bob = await refused(approved(world, await request(), { subject: 'bob' }));
  assert.deepEqual(bob, redirected('login_required', 'another user is signed in'));
  const byOwnName = await accepted(world, { ...OWN, ...claims({ id_token: { sub: { value: 'alice' } } }) });
  assert.equal((await refused(approved(world, byOwnName))).status, 303);
});

// ── claims ─────────────────────────────────────────────────────────────────────────────────────────────────

specification('The claims parameter (OpenID Connect Core §5.5)', ON_EVERY_STORE, (spec) => {
  spec('§5.5 the requested claims are read, and stored with the code', async (world) => {
    const asked = {
      userinfo: {
        given_name: { essential: true },
        nickname: null,
        'name#de': {},
        email_verified: { value: true },
        address: { value: { country: 'UK' } },
      },
      id_token: { auth_time: { essential: true }, email: { values: ['a@example.org', 'b@example.org'] } },
    };
    const request = await accepted(world, claims(asked));
    assert.deepEqual(request.claims, asked);
    const record = await recordOf(world, await approved(world, request, { authTime: 5 }));
    assert.deepEqual(record?.claimsRequest, asked);
  });
});

test('§5.5 members that are not understood are ignored, at every level', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(
    world,
    claims({
      userinfo: { name: { essential: false, purpose: 'greeting', max_age: 5 }, unknown_claim: null },
      verified_claims: [5],
      id_token: null,
    }),
  );
  assert.deepEqual(request.claims, { userinfo: { name: { essential: false } } });
  assert.deepEqual((await accepted(world, claims({}))).claims, {});
  const named = await accepted(
    world,
    claims('{"userinfo":{"__proto__":{"essential":true},"constructor":null}}'),
  );
  assert.deepEqual(Object.keys(named.claims?.userinfo ?? {}), []);
  assert.equal(Object.getPrototypeOf(named.claims?.userinfo), Object.prototype);
});

test('§5.5 a malformed claims parameter is refused', async (t) => {
  const world = await openWorld(t);
  const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`c${i}`, null]));
  await accepted(world, claims({ userinfo: { a: { value: deep(4) } } }));
  for (const wrong of [
    'x',
    '{',
    'null',
    '5',
    '"userinfo"',
    [],
    { userinfo: [] },
    { userinfo: 'name' },
    { id_token: 5 },
    { userinfo: { name: true } },
    { userinfo: { name: [] } },
    { userinfo: { name: 'essential' } },
    { userinfo: { name: { essential: 'true' } } },
    { userinfo: { name: { essential: null } } },
    { userinfo: { name: { values: 'a' } } },
    { userinfo: { name: { values: [] } } },
    { userinfo: { name: { value: 'a\0' } } },
    { userinfo: { name: { values: ['a', { b: '\0' }] } } },
    { userinfo: { 'na\0me': null } },
    '{"userinfo":{"name":{"value":"\\ud800"}}}',
    { userinfo: { a: { value: deep(5) } } },
    { userinfo: many },
    '['.repeat(5000),
  ]) {
    const response = await refusalOf(world, claims(wrong));
    assert.deepEqual(response, NO_CLAIMS, JSON.stringify(wrong).slice(0, 80));
  }
});

test('§5.5 with OpenID Connect off, its parameters are unknown ones', async (t) => {
  const world = await secondServer(await openWorld(t));
  const request = await accepted(world, { scope: 'read', claims: '[]', id_token_hint: 'x' });
  assert.equal('claims' in request || 'expectedSubject' in request, false);
});

test('§5.5.1.1 an acr that must be met and cannot be is refused at once', async (t) => {
  const acr = (request: object) => claims({ id_token: { acr: request } });
  const world = await openWorld(t, { acrValues: [PASSWORD, KEY] });
  assert.deepEqual(await refusalOf(world, acr({ essential: true, values: ['urn:example:other'] })), UNMET);
  assert.equal(world.lastReason, 'acr_unmet');
  assert.deepEqual((await accepted(world, acr({ values: ['urn:example:other'] }))).acrValues, [
    'urn:example:other',
  ]);
  await accepted(world, acr({ essential: true }));
  await accepted(world, acr({ essential: true, values: ['urn:example:other', KEY] }));
  assert.deepEqual(await refusalOf(await openWorld(t), acr({ essential: true, value: KEY })), UNMET);
});

test('§5.5.1.1 a sign-in of another class than must be is no sign-in', async (t) => {
  const world = await openWorld(t, { acrValues: [PASSWORD, KEY] });
  const request = () => accepted(world, claims({ id_token: { acr: { essential: true, value: KEY } } }));
  assert.deepEqual(await refused(approved(world, await request())), UNMET);
  assert.deepEqual(await refused(approved(world, await request(), { acr: PASSWORD })), UNMET);
  const record = await recordOf(world, await approved(world, await request(), { acr: KEY }));
  assert.equal(record?.claims.acr, KEY);
  const voluntary = await accepted(world, claims({ id_token: { acr: { value: KEY } } }));
  await approved(world, voluntary, { acr: PASSWORD });
});

// ── The approval ───────────────────────────────────────────────────────────────────────────────────────────

test('§2 if auth_time is required, an approval without it is the host’s mistake', async (t) => {
  const world = await worldWith(t, { require_auth_time: true });
  for (const request of [
    await accepted(world, OWN),
    await accepted(world, { max_age: '60' }),
    await accepted(world, claims({ id_token: { auth_time: { essential: true } } })),
  ]) {
    const { status } = await refused(approved(world, request));
    assert.equal(status, 500);
    const authTime = world.clock.seconds - 1234;
    const record = await recordOf(world, await approved(world, request, { authTime }));
    assert.equal(record?.claims.auth_time, authTime);
  }
});

test('§3.1.2.1 a sign-in that is older than max_age, by more than an hour on the host’s pages, is not approved', async (t) => {
  const world = await worldWith(t, { default_max_age: 600 });
  const hour = 60 * 60;
  for (const [parameters, maxAge] of [
    [{ max_age: '60' }, 60],
    [{ max_age: '0' }, 0],
    [OWN, 600],
  ] as const) {
    const request = await accepted(world, parameters);
    const oldest = world.clock.seconds - maxAge - hour;
    const record = await recordOf(world, await approved(world, request, { authTime: oldest }));
    assert.equal(record?.claims.auth_time, oldest);
    const another = await accepted(world, parameters);
    const older = await refused(approved(world, another, { authTime: oldest - 1 }));
    assert.deepEqual(older, redirected('login_required', 'the sign-in is older than max_age'));
    assert.equal(world.lastReason, 'sign_in_too_old');
  }
  const anyAge = await accepted(world);
  assert.match(String((await approved(world, anyAge, { authTime: 1 })).headers.location), /code=/);
});

specification('Sessions and approvals (OpenID Connect Core §11)', ON_EVERY_STORE, (spec) => {
  spec('§11 a grant ends with the session, unless offline_access was approved', async (world) => {
    const { storage } = world;
    const scopes = ['openid', 'offline_access'];
    await storage.clients.add({ ...CLIENTS.spa, id: 'own', scopes, redirectUris: [CALLBACK] });
    const request = () => accepted(world, { ...OWN, scope: scopes.join(' ') });
    const session = { sessionId: 'a session' };
    const both = await recordOf(world, await approved(world, await request(), session));
    const narrow = { ...session, scopes: ['openid'] };
    const online = await recordOf(world, await approved(world, await request(), narrow));
    const none = await recordOf(world, await approved(world, await request()));
    assert.deepEqual(
      [both, online, none].map((record) => [record?.claims.sid, record?.sessionId]),
      [
        ['a session', undefined],
        ['a session', 'a session'],
        [undefined, undefined],
      ],
    );
  });
});

// ── Between the pages of the host ──────────────────────────────────────────────────────────────────────────

test('a request is made again from its parameters, on any process, for a day', async (t) => {
  const world = await openWorld(t, { acrValues: [KEY] });
  const { id_token: id_token_hint } = await world.grant();
  const request = await accepted(world, {
    id_token_hint,
    nonce: 'n',
    response_mode: 'form_post',
    prompt: 'login',
    max_age: '60',
    login_hint: 'alice',
    acr_values: KEY,
    ui_locales: 'de',
    resource: ['https://api.example', 'https://as.example'],
    unknown: 'kept for the host',
    ...claims({ userinfo: { name: null } }),
  });
  const kept = JSON.parse(JSON.stringify(request.parameters));
  world.clock.advance(24 * 60 * 60 - 1);
  assert.deepEqual(await world.server.authorization.resume(kept), request);
  assert.equal(request.parameters.unknown, 'kept for the host');
});

test('a request that is made again is checked against the client as it is by then', async (t) => {
  const world = await openWorld(t);
  const { parameters } = await accepted(world);
  const resume = () => refused(world.server.authorization.resume(parameters, 'request-7'));
  await changeClient(world, 'web', { scopes: ['openid'] });
  assert.deepEqual((await world.server.authorization.resume(parameters)).scopes, ['openid']);
  await changeClient(world, 'web', { scopes: ['phone'] });
  assert.deepEqual(await resume(), redirected('invalid_scope', 'a scope is not allowed'));
  await changeClient(world, 'web', { redirectUris: ['https://web.example/other'] });
  const moved = shown('invalid_request', 'the redirect_uri is not registered for this client');
  assert.deepEqual(await resume(), moved);
  const event = world.events.at(-1);
  assert.deepEqual([event?.operation, event?.requestId], ['authorization', 'request-7']);
  await world.storage.setDisabled('client', 'web', true);
  assert.deepEqual(await resume(), shown('invalid_request', 'the client is disabled'));
  await world.storage.clients.remove('web');
  assert.deepEqual(await resume(), shown('invalid_request', 'the client is unknown'));
});

test('what proves who a client is never leaves with a request', async (t) => {
  const world = await openWorld(t);
  await world.storage.clients.add({
    ...CLIENTS.web,
    id: 'own',
    name: 'Own',
    secrets: [{ hash: 'hash of a secret' }],
    registrationTokenDigest: 'digest of a token',
    metadata: { logo_uri: 'https://own.example/logo.png' },
  });
  const { client } = await accepted(world, OWN);
  assert.deepEqual(client, {
    ...CLIENTS.web,
    id: 'own',
    name: 'Own',
    metadata: { logo_uri: 'https://own.example/logo.png' },
    generation: 0,
    revision: 0,
    registrationRevision: 0,
  });
});
