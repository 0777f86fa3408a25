// § refers to RFC 6749.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  type AuthorizationRequest,
  errorResponse,
  type HttpRequest,
  type HttpResponse,
  type NewClient,
  OAuthError,
} from '@grantd/core';
import { asked } from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { secondServer } from './harness/second_server.ts';
import {
  CHALLENGE,
  CLIENTS,
  ISSUER,
  openWorld,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

type Parameters = Readonly<Record<string, string | undefined>>;

const CALLBACK = CLIENTS.web.redirectUris[0];
const USUAL: Parameters = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: CALLBACK,
  scope: 'openid read',
  state: 'xyz',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

/** A request with the usual parameters and changes; `undefined` omits one. */
function requestOf(parameters: Parameters = {}): HttpRequest {
  return { method: 'GET', url: `/authorize?${queryOf({ ...USUAL, ...parameters })}`, headers: {} };
}

function queryOf(parameters: Parameters): URLSearchParams {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return new URLSearchParams(given);
}

/** The result of the first step for a request. */
function validate(world: World, parameters: Parameters = {}): Promise<AuthorizationRequest> {
  return world.server.authorization.validate(requestOf(parameters));
}

/** The response to a request that needs no page. */
function refusal(world: World, request: HttpRequest): Promise<HttpResponse> {
  return world.server.authorization.validate(request).then(
    () => assert.fail(`the request was accepted: ${request.url}`),
    (error: unknown) => {
      assert.ok(error instanceof OAuthError, String(error));
      return errorResponse(error);
    },
  );
}

/** An error that the browser takes to the client. */
function redirected(
  error: string,
  description: string,
  to: string = CALLBACK,
  state: string | undefined = 'xyz',
): HttpResponse {
  const query = queryOf({ error, error_description: description, state, iss: ISSUER });
  const separator = to.includes('?') ? '&' : '?';
  return {
    status: 303,
    headers: { 'cache-control': 'no-store', location: `${to}${separator}${query}` },
    body: '',
  };
}

/** An error that stays at the server. */
function shown(
  description: string,
  status = 400,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ error: 'invalid_request', error_description: description }),
  };
}

const MISSING_REDIRECT_URI = shown('the parameter redirect_uri is missing');
const UNKNOWN_REDIRECT_URI = shown('the redirect_uri is not registered for this client');

async function worldWith(
  t: TestContext,
  client: Partial<NewClient>,
  options: WorldOptions = {},
): Promise<World> {
  const world = await openWorld(t, options);
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'own', ...client });
  return world;
}

/** Parameters of the response to the client. */
function returned({ headers }: HttpResponse): {
  readonly target: string;
  readonly parameters: Record<string, string>;
} {
  const url = new URL(String(headers.location));
  return { target: url.origin + url.pathname, parameters: Object.fromEntries(url.searchParams) };
}

test('§4.1.1 a valid request becomes plain data for the host’s pages', async (t) => {
  const world = await openWorld(t);
  const request = await validate(world, {
    nonce: 'n-0S6',
    prompt: 'login consent',
    max_age: '0',
    login_hint: 'alice',
    ui_locales: 'de en',
    display: 'popup',
  });
  assert.deepEqual(asked(request), {
    client: { ...CLIENTS.web, generation: 0, revision: 0, registrationRevision: 0 },
    parameters: Object.fromEntries(
      queryOf({
        ...USUAL,
        nonce: 'n-0S6',
        prompt: 'login consent',
        max_age: '0',
        login_hint: 'alice',
        ui_locales: 'de en',
        display: 'popup',
      }),
    ),
    redirectUri: CALLBACK,
    redirectUriGiven: true,
    responseMode: 'query',
    scopes: ['openid', 'read'],
    prompt: ['login', 'consent'],
    state: 'xyz',
    nonce: 'n-0S6',
    codeChallenge: CHALLENGE,
    maxAge: 0,
    loginHint: 'alice',
    acrValues: [],
    uiLocales: ['de', 'en'],
  });
  assert.deepEqual(structuredClone(request), request);
  assert.deepEqual(world.events, []);
});

test('§3.1 GET and POST are the same request, by absolute URL or by path', async (t) => {
  const world = await openWorld(t);
  const expected = asked(await validate(world));
  const query = queryOf(USUAL).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const requests: readonly HttpRequest[] = [
    { method: 'GET', url: `https://elsewhere.example/some/page?${query}#fragment`, headers: {} },
    { method: 'POST', url: '/authorize', headers, body: query },
    { method: 'POST', url: '/authorize?client_id=nobody', headers, body: query },
    { method: 'POST', url: '/authorize', headers, body: Object.fromEntries(queryOf(USUAL)) },
  ];
  for (const request of requests) {
    assert.deepEqual(asked(await world.server.authorization.validate(request)), expected);
  }
});

test('§3.1 another method is 405 with Allow', async (t) => {
  const world = await openWorld(t);
  for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
    const response = await refusal(world, { ...requestOf(), method });
    assert.deepEqual(response, shown('the method is not allowed', 405, { allow: 'GET, HEAD, POST' }));
  }
});

test('§4.1.2.1 without a client that is known and enabled the browser is sent nowhere', async (t) => {
  const world = await openWorld(t);
  const ask = (parameters: Parameters) => refusal(world, requestOf(parameters));
  assert.deepEqual(await ask({ client_id: undefined }), shown('the parameter client_id is missing'));
  assert.deepEqual(await ask({ client_id: '' }), shown('the parameter client_id is missing'));
  for (const client_id of ['nobody', 'WEB', 'web ', 'we\u0000b', 'wäb', '__proto__']) {
    assert.deepEqual(await ask({ client_id }), shown('the client is unknown'), client_id);
  }
  assert.equal(world.lastReason, 'client_unknown');
  await world.storage.setDisabled('client', 'web', true);
  assert.deepEqual(await ask({}), shown('the client is disabled'));
  assert.equal(world.lastReason, 'client_disabled');
});

test('§3.1.2.4 a redirect URI that is not registered to the letter is never gone to', async (t) => {
  const world = await openWorld(t);
  const wrong = [
    'https://evil.example/callback',
    'https://web.example/callback/',
    'https://web.example/callback?x=1',
    'https://web.example/callback#x',
    'https://web.example/callback/../callback',
    'https://web.example/%63allback',
    'https://web.example/Callback',
    'https://WEB.example/callback',
    'HTTPS://web.example/callback',
    'https://web.example:443/callback',
    'https://web.example./callback',
    'https://x@web.example/callback',
    'https://web.example/callback ',
    ' https://web.example/callback',
    'https://web.example\\callback',
    'http://web.example/callback',
    'https://spa.example/callback',
    'javascript:alert(1)',
    '/callback',
    '//web.example/callback',
  ];
  for (const redirect_uri of wrong) {
    assert.deepEqual(
      await refusal(world, requestOf({ redirect_uri })),
      UNKNOWN_REDIRECT_URI,
      `${redirect_uri}`,
    );
  }
  assert.equal(world.lastReason, 'redirect_uri_mismatch');
});

test('§3.1.2.3 the redirect URI may be omitted if only one is registered', async (t) => {
  const world = await worldWith(t, { redirectUris: ['https://one.example/cb', 'https://two.example/cb'] });
  const request = await validate(world, { redirect_uri: undefined, scope: 'read' });
  assert.deepEqual([request.redirectUri, request.redirectUriGiven], [CALLBACK, false]);
  const several = requestOf({ client_id: 'own', redirect_uri: undefined, scope: 'read' });
  assert.deepEqual(await refusal(world, several), MISSING_REDIRECT_URI);
  const second = await validate(world, { client_id: 'own', redirect_uri: 'https://two.example/cb' });
  assert.equal(second.redirectUri, 'https://two.example/cb');
  const none = requestOf({ client_id: 'machine', redirect_uri: undefined, scope: 'read' });
  assert.deepEqual(await refusal(world, none), MISSING_REDIRECT_URI);
});

test('a missing redirect_uri is reported as missing, not as unregistered (RFC 6749 §3.1.2.3)', async (t) => {
  const world = await openWorld(t);
  for (const redirect_uri of [undefined, '']) {
    const missing = requestOf({ redirect_uri, scope: 'openid' });
    assert.deepEqual(await refusal(world, missing), MISSING_REDIRECT_URI);
    assert.equal(world.lastReason, 'parameter_missing');
  }
});

test('RFC 8252 §7.3 the port of a loopback address may vary, and nothing else of it', async (t) => {
  const redirectUris = ['http://127.0.0.1/cb', 'http://[::1]:4000/cb?x=1', 'http://127.0.0.1:9000'];
  const world = await worldWith(t, { redirectUris });
  const right = [
    'http://127.0.0.1/cb',
    'http://127.0.0.1:1/cb',
    'http://127.0.0.1:65535/cb',
    'http://[::1]/cb?x=1',
    'http://[::1]:53682/cb?x=1',
    'http://127.0.0.1',
    'http://127.0.0.1:80',
  ];
  for (const redirect_uri of right) {
    const request = await validate(world, { client_id: 'own', redirect_uri });
    assert.equal(request.redirectUri, redirect_uri);
  }
  const wrong = [
    'http://127.0.0.1:4001/cb2',
    'http://127.0.0.1:4001/cb/',
    'http://127.0.0.1:4001/cb?x',
    'http://127.0.0.1:4001/cb#x',
    'http://127.0.0.1:4001/',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:99999/cb',
    'http://127.0.0.1:4001@evil.example/cb',
    'http://127.0.0.1:4001\\@evil.example/cb',
    'http://x@127.0.0.1:4001/cb',
    'http://127.0.0.1.evil.example:4001/cb',
    'http://127.0.0.2:4001/cb',
    'http://127.1:4001/cb',
    'http://0x7f.0.0.1:4001/cb',
    'http://2130706433:4001/cb',
    'http://localhost:4001/cb',
    'https://127.0.0.1:4001/cb',
    'HTTP://127.0.0.1:4001/cb',
    'http://[::1]:4001/cb',
    'http://[0:0:0:0:0:0:0:1]:4001/cb?x=1',
    'http://[::ffff:127.0.0.1]:4001/cb',
    'http://127.0.0.1:40 01/cb',
    'http://127.0.0.1:4001/cb\n',
    'http://127.0.0.1:+1/cb',
  ];
  for (const redirect_uri of wrong) {
    const response = await refusal(world, requestOf({ client_id: 'own', redirect_uri }));
    assert.deepEqual(response, UNKNOWN_REDIRECT_URI, redirect_uri);
  }
});

test('RFC 8252 §7.3 the port of localhost may vary for a native application', async (t) => {
  const metadata = { application_type: 'native' } as const;
  const world = await worldWith(t, { redirectUris: ['http://localhost:4001/cb'], metadata });
  for (const redirect_uri of ['http://localhost:50123/cb', 'http://localhost/cb']) {
    assert.equal((await validate(world, { client_id: 'own', redirect_uri })).redirectUri, redirect_uri);
  }
  for (const redirect_uri of [
    'http://127.0.0.1:4001/cb',
    'http://app.localhost:4001/cb',
    'http://localhost.evil.example:4001/cb',
    'http://x@localhost:4001/cb',
    'https://localhost:4001/cb',
    'http://localhost:4001/CB',
  ]) {
    const response = await refusal(world, requestOf({ client_id: 'own', redirect_uri }));
    assert.deepEqual(response, UNKNOWN_REDIRECT_URI, redirect_uri);
  }
});

test('RFC 8252 §8.3 localhost is no loopback address, and https has no free port: both are exact', async (t) => {
  const redirectUris = ['http://localhost:4001/cb', 'https://127.0.0.1:4001/cb', 'com.example.app:/cb'];
  const world = await worldWith(t, { redirectUris });
  for (const redirect_uri of redirectUris) {
    assert.equal((await validate(world, { client_id: 'own', redirect_uri })).redirectUri, redirect_uri);
  }
  for (const redirect_uri of [
    'http://localhost:4002/cb',
    'http://localhost/cb',
    'https://127.0.0.1:4002/cb',
    'com.example.app:/CB',
  ]) {
    const response = await refusal(world, requestOf({ client_id: 'own', redirect_uri }));
    assert.deepEqual(response, UNKNOWN_REDIRECT_URI, redirect_uri);
  }
});

test('§3.1 a repeated parameter is refused at the server, since nothing of the request is certain then', async (t) => {
  const world = await openWorld(t);
  const query = queryOf(USUAL).toString();
  for (const name of ['client_id', 'redirect_uri', 'scope', 'state', 'unknown']) {
    const url = `/authorize?${query}&${name}=a&${name}=b`;
    assert.deepEqual(
      await refusal(world, { method: 'GET', url, headers: {} }),
      shown('a parameter is repeated'),
    );
  }
  const emptyFirst = { method: 'GET', url: `/authorize?scope=&${query}`, headers: {} };
  assert.deepEqual(await refusal(world, emptyFirst), shown('a parameter is repeated'));
});

test('§3.1 a POST that is no form is refused at the server', async (t) => {
  const world = await openWorld(t);
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', url: '/authorize', headers, body: JSON.stringify(USUAL) };
  const expected = shown('the content type must be application/x-www-form-urlencoded');
  assert.deepEqual(await refusal(world, request), expected);
});

test('§4.1.2.1 every other error goes to the client with state and iss', async (t) => {
  const world = await openWorld(t);
  const cases: readonly (readonly [Parameters, string, string])[] = [
    [{ response_type: undefined }, 'invalid_request', 'the parameter response_type is missing'],
    [{ response_type: 'token' }, 'unsupported_response_type', 'only the response_type code is supported'],
    [
      { response_type: 'code id_token' },
      'unsupported_response_type',
      'only the response_type code is supported',
    ],
    [{ response_type: 'none' }, 'unsupported_response_type', 'only the response_type code is supported'],
    [{ response_mode: 'web_message' }, 'invalid_request', 'the response_mode is not supported'],
    [{ response_mode: 'QUERY' }, 'invalid_request', 'the response_mode is not supported'],
    [{ response_mode: 'web_message' }, 'invalid_request', 'the response_mode is not supported'],
    [{ scope: 'admin' }, 'invalid_scope', 'a scope is not allowed'],
    [{ scope: 'root admin' }, 'invalid_scope', 'a scope is not allowed'],
    [{ scope: 're"ad' }, 'invalid_scope', 'the scope is malformed'],
    [{ scope: '  ' }, 'invalid_scope', 'the scope is malformed'],
    [{ code_challenge: undefined }, 'invalid_request', 'the parameter code_challenge is missing'],
    [
      { code_challenge: undefined, code_challenge_method: undefined },
      'invalid_request',
      'the parameter code_challenge is missing',
    ],
    [{ code_challenge_method: 'plain' }, 'invalid_request', 'the code_challenge_method must be S256'],
    [{ code_challenge_method: 's256' }, 'invalid_request', 'the code_challenge_method must be S256'],
    [{ code_challenge_method: undefined }, 'invalid_request', 'the code_challenge_method must be S256'],
    [{ code_challenge: VERIFIER.slice(1) }, 'invalid_request', 'the code_challenge is malformed'],
    [{ code_challenge: `${CHALLENGE}=` }, 'invalid_request', 'the code_challenge is malformed'],
    [{ code_challenge: `${CHALLENGE.slice(1)}+` }, 'invalid_request', 'the code_challenge is malformed'],
    [{ prompt: 'none login' }, 'invalid_request', 'the prompt is not allowed'],
    [{ prompt: 'create' }, 'invalid_request', 'the prompt is not allowed'],
    [{ prompt: 'LOGIN' }, 'invalid_request', 'the prompt is not allowed'],
    [{ prompt: 'login  consent' }, 'invalid_request', 'the prompt is not allowed'],
    [
      { max_age: '-1' },
      'invalid_request',
      'the max_age must be a number of seconds with at most nine digits',
    ],
    [
      { max_age: '1.5' },
      'invalid_request',
      'the max_age must be a number of seconds with at most nine digits',
    ],
    [
      { max_age: '1e3' },
      'invalid_request',
      'the max_age must be a number of seconds with at most nine digits',
    ],
    [
      { max_age: 'soon' },
      'invalid_request',
      'the max_age must be a number of seconds with at most nine digits',
    ],
    [
      { max_age: '9'.repeat(10) },
      'invalid_request',
      'the max_age must be a number of seconds with at most nine digits',
    ],
    [{ nonce: 'n\0once' }, 'invalid_request', 'the nonce contains a NUL character'],
    [{ request: 'eyJ' }, 'invalid_request_object', 'the request object is malformed'],
    [{ request_uri: 'https://web.example/r' }, 'request_uri_not_supported', 'request_uri is not supported'],
    [{ registration: '{}' }, 'registration_not_supported', 'registration is not supported'],
  ];
  for (const [parameters, error, description] of cases) {
    const response = await refusal(world, requestOf(parameters));
    assert.deepEqual(response, redirected(error, description), JSON.stringify(parameters));
  }
  const last = world.events.at(-1);
  assert.deepEqual([last?.operation, last?.clientId], ['authorization', 'web']);
});

test('§4.1.2.1 a client that is not registered for codes gets unauthorized_client', async (t) => {
  const world = await worldWith(t, { grantTypes: ['refresh_token'] });
  const redirect_uri = CLIENTS.spa.redirectUris[0];
  const response = await refusal(world, requestOf({ client_id: 'own', redirect_uri }));
  const description = 'the client may not use this response_type';
  assert.deepEqual(response, redirected('unauthorized_client', description, redirect_uri));
});

test('§4.1.2 state is returned exactly as sent, or not at all', async (t) => {
  const world = await openWorld(t);
  const description = 'registration is not supported';
  for (const state of ['a b+c&d=e%20#ä€', '{"x":[1]}', '0', 'x'.repeat(2000)]) {
    const response = await refusal(world, requestOf({ state, registration: '{}' }));
    assert.deepEqual(response, redirected('registration_not_supported', description, CALLBACK, state));
    assert.equal(returned(response).parameters.state, state);
  }
  for (const state of [undefined, '']) {
    const response = await refusal(world, requestOf({ state, registration: '{}' }));
    const parameters = { error: 'registration_not_supported', error_description: description, iss: ISSUER };
    assert.deepEqual(returned(response), { target: CALLBACK, parameters });
  }
});

test('§3.1.2 the query of a registered redirect URI is kept', async (t) => {
  const redirectUri = 'https://own.example/cb?tenant=a%20b&x';
  const world = await worldWith(t, { redirectUris: [redirectUri] });
  const parameters = { client_id: 'own', redirect_uri: redirectUri };
  const response = await refusal(world, requestOf({ ...parameters, registration: '{}' }));
  assert.deepEqual(
    response,
    redirected('registration_not_supported', 'registration is not supported', redirectUri),
  );

  const request = await validate(world, parameters);
  const completed = await world.server.authorization.complete(request, { subject: 'alice' });
  const location = String(completed.headers.location);
  assert.ok(location.startsWith(`${redirectUri}&code=grantd_ac_`), location);
});

test('§3.3 without scope the request is for all scopes of the client', async (t) => {
  const world = await openWorld(t);
  const { scopes } = await validate(world, { scope: undefined });
  assert.deepEqual(scopes, CLIENTS.web.scopes);
  assert.deepEqual((await validate(world, { scope: 'read openid read' })).scopes, ['read', 'openid']);
});

test('OpenID Connect Core §3.1.2.1 with OpenID Connect off there is no openid', async (t) => {
  const world = await secondServer(await openWorld(t));
  assert.deepEqual((await validate(world)).scopes, ['read']);
  assert.deepEqual(
    await refusal(world, requestOf({ scope: 'openid' })),
    redirected('invalid_scope', 'a scope is not allowed'),
  );
  const { scopes } = await validate(world, { scope: undefined });
  assert.deepEqual(scopes, ['profile', 'email', 'read', 'write']);
});

test('OpenID Connect Core §3.1.2.1 prompt and max_age are read for the host to obey', async (t) => {
  const world = await openWorld(t);
  assert.deepEqual((await validate(world)).prompt, []);
  assert.deepEqual((await validate(world, { prompt: 'none' })).prompt, ['none']);
  assert.deepEqual((await validate(world, { prompt: 'consent select_account login' })).prompt, [
    'consent',
    'select_account',
    'login',
  ]);
  assert.equal((await validate(world, { max_age: '86400' })).maxAge, 86400);
  assert.equal('maxAge' in (await validate(world, { max_age: '' })), false);
});

test('RFC 9700 §2.1.1 a confidential client may leave out PKCE if its own setting says so, others and public ones never', async (t) => {
  const world = await openWorld(t);
  const without = { code_challenge: undefined, code_challenge_method: undefined };
  const pkceMissing = redirected('invalid_request', 'the parameter code_challenge is missing');
  assert.deepEqual(await refusal(world, requestOf(without)), pkceMissing);
  const exempt = { insecure_allow_missing_pkce: true };
  await changeClient(world, 'web', { metadata: exempt });
  await changeClient(world, 'spa', { metadata: { ...exempt, token_endpoint_auth_method: 'none' } });
  assert.equal('codeChallenge' in (await validate(world, without)), false);
  assert.equal((await validate(world)).codeChallenge, CHALLENGE);

  const missing = 'the parameter code_challenge is missing';
  const halfway = { code_challenge: undefined };
  assert.deepEqual(await refusal(world, requestOf(halfway)), redirected('invalid_request', missing));
  const redirect_uri = CLIENTS.spa.redirectUris[0];
  const asPublic = requestOf({ client_id: 'spa', redirect_uri, ...without });
  assert.deepEqual(await refusal(world, asPublic), redirected('invalid_request', missing, redirect_uri));
});

test('§4.1.2 the user approves: the redirect has code, state and iss, on a single line', async (t) => {
  const world = await openWorld(t);
  const request = await validate(world, { state: 'a\r\nSet-Cookie: x=1' });
  const response = await world.server.authorization.complete(request, { subject: 'alice' });
  const { code = '', ...parameters } = returned(response).parameters;
  assert.match(code, /^grantd_ac_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(parameters, { state: 'a\r\nSet-Cookie: x=1', iss: ISSUER });
  const location = String(response.headers.location);
  assert.doesNotMatch(location, /[\s]/);
  assert.deepEqual(response, { status: 303, headers: { location, 'cache-control': 'no-store' }, body: '' });
});

test('§4.1.2 each approval has its own code, and storage knows none of them', async (t) => {
  const world = await openWorld(t);
  const codes = new Set<string>();
  for (let i = 0; i < 3; i++) {
    const response = await world.server.authorization.complete(await validate(world), { subject: 'alice' });
    const { code = '' } = returned(response).parameters;
    codes.add(code);
    assert.equal(await world.storage.authorizationCodes.get(code), undefined);
  }
  assert.equal(codes.size, 3);
});

test('§3.3 a user may approve less than was requested', async (t) => {
  const world = await openWorld(t);
  const scopesOf = async (scopes: readonly string[]) => {
    const approval = { subject: 'alice', scopes };
    const response = await world.server.authorization.complete(await validate(world), approval);
    const redeemed = await world.redeem(returned(response).parameters.code ?? '');
    const { scope, id_token } = JSON.parse(redeemed.body);
    return [scope, typeof id_token];
  };
  assert.deepEqual(await scopesOf(['read']), ['read', 'undefined']);
  assert.deepEqual(await scopesOf(['openid']), ['openid', 'string']);
  assert.deepEqual(await scopesOf([]), [undefined, 'undefined']);
});

test('§3.3 an approval of more than was requested is the host’s mistake, and issues no code', async (t) => {
  const world = await openWorld(t);
  const request = await validate(world);
  for (const scopes of [['write'], ['openid', 'read', 'write'], ['admin']]) {
    await assert.rejects(world.server.authorization.complete(request, { subject: 'alice', scopes }), {
      name: 'OAuthError',
      code: 'server_error',
      redirectTo: undefined,
    });
  }
  const told = world.events.at(-1);
  assert.ok(told?.type === 'refused' && told.cause instanceof TypeError);
});

test('§4.1.2.1 an approval for a user who was disabled meanwhile is access_denied', async (t) => {
  const world = await openWorld(t);
  const requests = [await validate(world), await validate(world), await validate(world)];
  const complete = (server: World) =>
    server.server.authorization.complete(requests.pop() ?? assert.fail(), { subject: 'alice' }).then(
      () => assert.fail('a code was issued'),
      (error: unknown) => errorResponse(error),
    );
  const expected = redirected('access_denied', 'the authorization was revoked');

  const strict = await secondServer(world, { getSubjectState: () => 'disabled' });
  assert.deepEqual(await complete(strict), expected);
  await world.storage.setDisabled('subject', 'alice', true);
  assert.deepEqual(await complete(world), expected);
  await world.storage.setDisabled('subject', 'alice', false);
  await world.storage.setDisabled('client', 'web', true);
  assert.deepEqual(await complete(world), expected);
  assert.deepEqual([world.events.at(-1)?.operation, world.events.at(-1)?.clientId], ['authorization', 'web']);
});

test('§4.1.2.1 a refusal by the user or the host goes to the client', async (t) => {
  const world = await openWorld(t);
  const request = await validate(world);
  const denied = await world.server.authorization.refuse(request, 'access_denied', 'the person said no');
  assert.deepEqual(denied, redirected('access_denied', 'the person said no'));
  const silent = await validate(world, { prompt: 'none', state: undefined });
  const loginRequired = await world.server.authorization.refuse(
    silent,
    'login_required',
    'nobody is signed in',
  );
  const parameters = { error: 'login_required', error_description: 'nobody is signed in', iss: ISSUER };
  assert.deepEqual(returned(loginRequired), { target: CALLBACK, parameters });
});

describe('RFC 9700 §4.11.2 a client that registered itself', () => {
  const EVIL = 'https://evil.example/cb';
  const STRANGER = {
    ...CLIENTS.web,
    id: 'stranger',
    redirectUris: [EVIL],
    registeredAt: 1,
  } satisfies NewClient;
  const OF_STRANGER = { client_id: 'stranger', redirect_uri: EVIL, scope: 'openid' };

  /** The response to an invalid request, to `prompt=none`, and after the user denied. */
  async function refusals(world: World, headers: HttpRequest['headers'] = {}, parameters: Parameters = {}) {
    const asked = (more: Parameters) => ({
      ...requestOf({ ...OF_STRANGER, ...parameters, ...more }),
      headers,
    });
    const silent = await world.server.authorization.validate(asked({ prompt: 'none' }));
    const denied = await world.server.authorization.validate(asked({}));
    return [
      await refusal(world, asked({ response_type: 'token' })),
      await world.server.authorization.refuse(silent, 'login_required', 'nobody is signed in'),
      await world.server.authorization.refuse(denied, 'access_denied', 'the person said no'),
    ];
  }

  test('RFC 9700 §4.11.2 no error redirects the browser to it: a page names the host', async (t) => {
    const world = await openWorld(t);
    await world.storage.clients.add(STRANGER);
    for (const { status, headers, body, leaving } of await refusals(world)) {
      assert.equal(status, 200);
      assert.deepEqual(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      assert.match(leaving?.redirectTo ?? '', /^https:\/\/evil\.example\/cb\?error=/);
      const address = leaving?.redirectTo.replaceAll('&', '&#38;');
      assert.ok(
        body.includes(`<a id="leave" href="${address}" rel="noreferrer">Continue to evil.example</a>`),
      );
      assert.doesNotMatch(body, /<script|http-equiv/);
    }
  });

  test('RFC 9700 §4.11.2 an error by form_post waits for its button', async (t) => {
    const world = await openWorld(t);
    await world.storage.clients.add(STRANGER);
    for (const { body, leaving } of await refusals(world, {}, { response_mode: 'form_post' })) {
      assert.equal(leaving?.redirectTo, EVIL);
      assert.equal(leaving.formPost?.state, 'xyz');
      assert.match(body, /<form method="post" action="https:\/\/evil\.example\/cb">/);
      assert.match(body, /<button type="submit">Continue to evil\.example<\/button>/);
      assert.doesNotMatch(body, /<script/);
    }
  });

  test('RFC 9700 §4.11.2 an error reaches the frame, and a code redirects', async (t) => {
    const world = await openWorld(t);
    await world.storage.clients.add(STRANGER);
    for (const { status, leaving } of await refusals(world, { 'sec-fetch-dest': 'iframe' }))
      assert.deepEqual([status, leaving], [303, undefined]);
    for (const { status } of await refusals(world, { 'sec-fetch-dest': 'document' }))
      assert.equal(status, 200);
    const granted = await world.server.authorization.complete(await validate(world, OF_STRANGER), {
      subject: 'alice',
    });
    assert.equal(granted.status, 303);
  });
});

test('RFC 9207 §2 iss is the issuer to the letter, with its path', async (t) => {
  const issuer = 'https://as.example/tenant/';
  const world = await openWorld(t, { issuer });
  const request = await validate(world);
  const completed = await world.server.authorization.complete(request, { subject: 'alice' });
  const refused = await world.server.authorization.refuse(await validate(world), 'access_denied', 'no');
  assert.deepEqual([returned(completed).parameters.iss, returned(refused).parameters.iss], [issuer, issuer]);
});

test('§4.1.2.1 storage that fails is 503 at the server, and no redirect', async (t) => {
  const world = await openWorld(t);
  const down = () => Promise.reject(new Error('the disk is full'));
  const expected = {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
    body: '{"error":"temporarily_unavailable","error_description":"the server cannot answer at the moment"}',
  };
  const noClients = { ...world.storage, clients: { ...world.storage.clients, get: down } };
  assert.deepEqual(
    await refusal(await secondServer(world, {}, noClients), requestOf({ scope: 'read' })),
    expected,
  );

  const request = await validate(world);
  const authorizationCodes = { ...world.storage.authorizationCodes, issue: down };
  const noCodes = await secondServer(world, {}, { ...world.storage, authorizationCodes });
  const response = await noCodes.server.authorization
    .complete(request, { subject: 'alice' })
    .then(() => assert.fail('a code was issued'), errorResponse);
  assert.deepEqual(response, expected);
});
