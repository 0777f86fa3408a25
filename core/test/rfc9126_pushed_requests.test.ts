// § refers to RFC 9126.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthorizationRequest } from '@grantd/core';
import * as oauth from 'oauth4webapi';
import { sha256 } from '#crypto';
import {
  accepted,
  addSigningClient,
  asked,
  exactly,
  formOf,
  type Parameters,
  redirected,
  refusalOf,
  refused,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { CLIENT_REFUSED, errorOf, OPEN_JSON_HEADERS, opened } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { basic, CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const URN = /^urn:ietf:params:oauth:request_uri:[A-Za-z0-9_-]{43}$/;
const GONE = shown('invalid_request_uri', 'the request_uri is unknown or has expired');

function push(
  world: World,
  parameters: Parameters = {},
  headers: Readonly<Record<string, string>> = { authorization: basic('web') },
): Promise<TestResponse> {
  return world.send({
    method: 'POST',
    path: '/par',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: formOf({ ...USUAL, ...parameters }).toString(),
  });
}

async function pushed(world: World, parameters: Parameters = {}): Promise<string> {
  const { status, body } = await push(world, parameters);
  assert.equal(status, 201, body);
  return JSON.parse(body).request_uri;
}

function taken({ server }: World, request_uri: string, more: Parameters = {}): Promise<AuthorizationRequest> {
  return server.authorization.validate(exactly({ client_id: 'web', request_uri, ...more }));
}

function refusal(error: string, description: string, status = 400): TestResponse {
  return errorOf(status, error, description, OPEN_JSON_HEADERS);
}

specification('Pushed authorization requests (RFC 9126)', ON_EVERY_STORE, (spec) => {
  spec.http('§2.2 a valid request gets a request_uri and its lifetime', async (world) => {
    const { status, headers, body } = await push(world);
    assert.deepEqual([status, headers], [201, OPEN_JSON_HEADERS]);
    const { request_uri, ...others } = JSON.parse(body);
    assert.match(request_uri, URN);
    assert.deepEqual(others, { expires_in: 60 });
    assert.notEqual(await pushed(world), request_uri);
    assert.deepEqual(world.events, []);
  });

  spec('§4 the authorization endpoint accepts a pushed request like its own', async (world) => {
    const parameters = { nonce: 'n', prompt: 'consent', resource: [CLIENTS.api.resource, ISSUER] };
    const expected = asked(await accepted(world, parameters));
    assert.deepEqual(asked(await taken(world, await pushed(world, parameters))), expected);
  });

  spec('§4 a page with a request_uri can be reloaded until the user has answered', async (world) => {
    const name = await pushed(world);
    const [first, second] = [await taken(world, name), await taken(world, name)];
    assert.deepEqual(second, first);
    await world.server.authorization.complete(second, { subject: 'alice' });
    assert.deepEqual(await refused(taken(world, name)), GONE);
    assert.deepEqual(
      await refused(world.server.authorization.complete(first, { subject: 'alice' })),
      shown('invalid_request', 'the authorization request was answered before'),
    );
  });

  spec('§4 a request_uri is gone after a refusal too', async (world) => {
    const name = await pushed(world, { prompt: 'none' });
    await world.server.authorization.refuse(
      await taken(world, name),
      'login_required',
      'nobody is signed in',
    );
    assert.deepEqual(await refused(taken(world, name)), GONE);
  });

  spec('§2.2 a request_uri works until its second, and not in it', async (world) => {
    const [early, late] = [await pushed(world), await pushed(world)];
    world.clock.advance(59);
    await taken(world, early);
    world.clock.advance(1);
    assert.deepEqual(await refused(taken(world, late)), GONE);
  });

  spec(
    '§2.3 an unsound request is refused at once, in JSON, with the error of the authorization endpoint',
    async (world) => {
      for (const [parameters, error, description] of [
        [{ response_type: undefined }, 'invalid_request', 'the parameter response_type is missing'],
        [
          { response_type: 'code token' },
          'unsupported_response_type',
          'only the response_type code is supported',
        ],
        [{ scope: 'admin' }, 'invalid_scope', 'a scope is not allowed'],
        [
          { redirect_uri: 'https://evil.example/' },
          'invalid_request',
          'the redirect_uri is not registered for this client',
        ],
        [{ redirect_uri: undefined }, 'invalid_request', 'the parameter redirect_uri is missing'],
        [{ code_challenge: undefined }, 'invalid_request', 'the parameter code_challenge is missing'],
        [
          { resource: 'https://evil.example' },
          'invalid_target',
          'a resource is not registered, or not for this client',
        ],
        [{ claims: '[]' }, 'invalid_request', 'the claims parameter is malformed'],
        [{ state: 'a\0' }, 'invalid_request', 'a parameter contains a NUL character'],
        [{ state: 'x'.repeat(6200) }, 'invalid_request', 'the request is longer than 6144 characters'],
        [{ state: ['a', 'b'] }, 'invalid_request', 'a parameter is repeated'],
        [{ registration: '{}' }, 'registration_not_supported', 'registration is not supported'],
      ] as const) {
        assert.deepEqual(
          await push(world, parameters),
          refusal(error, description),
          JSON.stringify(parameters),
        );
      }
    },
  );

  spec('§2.1 request_uri cannot be pushed, neither a name nor an address', async (world) => {
    for (const request_uri of [await pushed(world), 'https://web.example/request.jwt']) {
      const response = await push(world, { request_uri });
      assert.deepEqual(response, refusal('invalid_request', 'request_uri cannot be pushed'));
    }
  });

  spec('§2 a client authenticates as it does at the token endpoint', async (world) => {
    for (const headers of [
      {},
      { authorization: basic('web', 'wrong') },
      { authorization: basic('nobody') },
    ]) {
      assert.deepEqual(await push(world, { client_id: undefined }, headers), CLIENT_REFUSED);
    }
    assert.deepEqual(await push(world, {}, {}), CLIENT_REFUSED);
    const inBody = await push(world, { client_secret: 'the secret of web' }, {});
    assert.equal(inBody.status, 201);
    const redirect_uri = CLIENTS.spa.redirectUris[0];
    const asPublic = await push(world, { client_id: 'spa', redirect_uri }, {});
    assert.equal(asPublic.status, 201);
    await world.storage.setDisabled('client', 'web', true);
    assert.deepEqual(await push(world), CLIENT_REFUSED);
  });

  spec(
    '§2.1 a client that authenticates by Basic need not name itself again, and cannot name another',
    async (world) => {
      const { client, parameters } = await taken(world, await pushed(world, { client_id: undefined }));
      assert.deepEqual([client.id, parameters.client_id], ['web', 'web']);
      const response = await push(world, { client_id: 'spa' });
      const description = 'the request carries more than one client credential';
      assert.deepEqual(response, refusal('invalid_request', description));
    },
  );

  spec.http(
    '§2.3 another method is 405, a body that is too large 413, another media type 400',
    async (world) => {
      const { status, headers } = await world.send({ method: 'GET', path: '/par', headers: {} });
      assert.deepEqual([status, headers.allow], [405, 'POST']);
      const large = await push(world, { state: 'x'.repeat(70_000) });
      assert.deepEqual([large.status, JSON.parse(large.body).error], [413, 'invalid_request']);
      const json = await push(world, {}, { 'content-type': 'application/json', authorization: basic('web') });
      assert.equal(json.status, 400);
    },
  );

  spec.http('§2 pages of registered origins may push, as they may ask for tokens', async (world) => {
    const origin = 'https://web.example';
    const response = await push(world, { scope: 'admin' }, { authorization: basic('web'), origin });
    assert.deepEqual(response, opened(refusal('invalid_scope', 'a scope is not allowed'), origin));
    const elsewhere = await push(world, {}, { authorization: basic('web'), origin: 'https://spa.example' });
    assert.equal('access-control-allow-origin' in elsewhere.headers, false);
  });
});

test('§7.1 storage knows a pushed request by a digest, and never what its client proved itself by', async (t) => {
  const world = await openWorld(t);
  const { body } = await push(world, { client_secret: 'the secret of web' }, {});
  const { request_uri } = JSON.parse(body);
  assert.equal(await world.storage.pending.get('pushed_request', request_uri), undefined);
  assert.deepEqual(await world.storage.pending.get('pushed_request', await sha256(request_uri)), {
    kind: 'pushed_request',
    id: await sha256(request_uri),
    clientId: 'web',
    data: USUAL,
    version: 0,
    expiresAt: world.clock.seconds + 60,
  });
});

test('§4 a name that was never given is unknown', async (t) => {
  const world = await openWorld(t);
  const name = await pushed(world);
  for (const unknown of [
    `${name}x`,
    'urn:ietf:params:oauth:request_uri:',
    name.toUpperCase().replace('URN', 'urn'),
  ]) {
    assert.notEqual((await refused(taken(world, unknown))).status, 303);
  }
});

test('§2.2 what one client pushed is nothing to another', async (t) => {
  const world = await openWorld(t);
  const name = await pushed(world);
  assert.deepEqual(await refused(taken(world, name, { client_id: 'spa' })), GONE);
  assert.equal(world.lastReason, 'pushed_request_foreign');
  assert.equal((await taken(world, name)).client.id, 'web');
});

test('§4 other parameters next to the request_uri are ignored', async (t) => {
  const world = await openWorld(t);
  const name = await pushed(world);
  const beside = {
    scope: 'openid write',
    state: 'other',
    redirect_uri: 'https://evil.example/',
    prompt: 'none',
  };
  const { scopes, state, redirectUri, prompt } = await taken(world, name, beside);
  assert.deepEqual(
    { scopes, state, redirectUri, prompt },
    { scopes: ['openid', 'read'], state: 'xyz', redirectUri: USUAL.redirect_uri, prompt: [] },
  );
});

test('§4 an unknown request_uri is reported to the client only if the request has its redirect URI', async (t) => {
  const world = await openWorld(t);
  const name = await pushed(world);
  await world.server.authorization.complete(await taken(world, name), { subject: 'alice' });
  const beside = { client_id: 'web', request_uri: name, state: 'mine' };
  const known = await refusalOf(world, { ...beside, redirect_uri: USUAL.redirect_uri }, {});
  const description = 'the request_uri is unknown or has expired';
  assert.deepEqual(known, redirected('invalid_request_uri', description, { state: 'mine' }));
  const evil = await refusalOf(world, { ...beside, redirect_uri: 'https://evil.example/' }, {});
  assert.deepEqual(evil, GONE);
});

test('§2.4 a pushed request is checked again when it is used: the client may have changed', async (t) => {
  const world = await openWorld(t);
  const names = [await pushed(world), await pushed(world)] as const;
  await changeClient(world, 'web', { scopes: ['openid'] });
  assert.deepEqual((await taken(world, names[0])).scopes, ['openid'], 'what is left');
  await world.storage.setDisabled('client', 'web', true);
  assert.deepEqual(await refused(taken(world, names[1])), shown('invalid_request', 'the client is disabled'));
});

test('§3 a request object can be pushed; only its parameters count', async (t) => {
  const world = await openWorld(t);
  const { sign } = await addSigningClient(world, { id: 'signer' });
  const authorization = { authorization: basic('signer') };
  const request = await sign({ ...USUAL, client_id: 'signer', state: 'inside' });
  const body = formOf({ client_id: 'signer', request, scope: 'openid write', state: 'outside' }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...authorization };
  const response = await world.send({ method: 'POST', path: '/par', headers, body });
  assert.equal(response.status, 201, response.body);
  const { request_uri } = JSON.parse(response.body);
  const { scopes, state, parameters } = asked(await taken(world, request_uri, { client_id: 'signer' }));
  assert.deepEqual([scopes, state], [['openid', 'read'], 'inside']);
  assert.deepEqual(parameters, { ...USUAL, client_id: 'signer', state: 'inside' });

  const broken = await push(world, { client_id: 'signer', request: `${request}x` }, authorization);
  assert.equal(JSON.parse(broken.body).error, 'invalid_request_object');
  assert.equal(broken.status, 400);
});

test('§5, §6 if requests must be pushed, others are refused, even signed ones', async (t) => {
  const world = await openWorld(t);
  const { sign } = await addSigningClient(world, {
    id: 'signer',
    metadata: { require_pushed_authorization_requests: true },
  });
  const mustPush = redirected('invalid_request', 'the request must be pushed');
  const base = { ...USUAL, client_id: 'signer' };
  assert.deepEqual(await refusalOf(world, {}, base), mustPush);
  assert.deepEqual(await refusalOf(world, { request: await sign(base) }, base), mustPush);
  assert.equal(world.lastReason, 'pushed_request_missing');
  await accepted(world);

  const everyone = await secondServer(world, { requirePushedAuthorizationRequests: true });
  const plain = { scope: 'read' };
  assert.deepEqual(await refusalOf(everyone, plain), mustPush);
  const { parameters } = await taken(everyone, await pushed(everyone, plain));
  // The host resumes the pushed request, page after page.
  assert.deepEqual((await everyone.server.authorization.resume(parameters)).scopes, ['read']);
});

test('§2.2 the lifetime of names is the host’s to set', async (t) => {
  const world = await openWorld(t, { pushedRequestLifetime: 5 });
  const { body } = await push(world);
  const { request_uri, expires_in } = JSON.parse(body);
  assert.equal(expires_in, 5);
  world.clock.advance(5);
  assert.deepEqual(await refused(taken(world, request_uri)), GONE);
});

test('§2 a store without pushed requests has no such endpoint, and knows no request_uri', async (t) => {
  const first = await openWorld(t);
  for (const missing of ['pending', 'oneTimeIdentifiers'] as const) {
    const storage: Partial<World['storage']> = { ...first.storage };
    delete storage[missing];
    const { server } = await secondServer(first, {}, storage as World['storage']);
    assert.equal(server.serves('/par'), false);
    const request_uri = `urn:ietf:params:oauth:request_uri:${'A'.repeat(43)}`;
    const request = exactly({ client_id: 'web', request_uri });
    assert.deepEqual(await refused(server.authorization.validate(request)), GONE);
  }
});

test('§1 oauth4webapi pushes a signed request, and redeems its code', async (t) => {
  const world = await openWorld(t);
  const { privateKey } = await addSigningClient(world, {
    id: 'signer',
    metadata: { require_pushed_authorization_requests: true, require_signed_request_object: true },
  });
  const options = libraryOptions(world);
  const client = { client_id: 'signer', [oauth.clockSkew]: options[oauth.clockSkew] };
  const server = await discovered(options);
  const authentication = oauth.ClientSecretBasic('the secret of signer');

  const verifier = oauth.generateRandomCodeVerifier();
  const { client_id: _, ...usual } = USUAL;
  const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
  const key = { key: privateKey, kid: 'key of signer' };
  const request = await oauth.issueRequestObject(server, client, { ...usual, code_challenge }, key);
  const response = await oauth.pushedAuthorizationRequest(
    server,
    client,
    authentication,
    { request },
    options,
  );
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response);

  const checked = await taken(world, request_uri, { client_id: 'signer' });
  const { headers } = await world.server.authorization.complete(checked, { subject: 'alice' });
  const callback = new URL(String(headers.location));
  const parameters = oauth.validateAuthResponse(server, client, callback, 'xyz');
  const redeemed = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    USUAL.redirect_uri,
    verifier,
    options,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
  assert.equal(oauth.getValidatedIdTokenClaims(tokens)?.sub, 'alice');
});
