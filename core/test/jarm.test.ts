// § refers to JARM.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ClientMetadata,
  DocumentError,
  type FetchDocument,
  type HttpResponse,
  SIGNING_ALGORITHMS,
  StorageFault,
} from '@grantd/core';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { decryptedAnswer, signedAnswer } from './harness/answer_jwts.ts';
import {
  accepted,
  addSigningClient,
  CALLBACK,
  codeIn,
  exactly,
  type Parameters,
  postedBy,
  redirected,
  refusalOf,
  refused,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { clientKey } from './harness/client_keys.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { CANNOT_SIGN, secondServer } from './harness/second_server.ts';
import { CLIENTS, ISSUER, openWorld, type World } from './harness/world.ts';

const JWT_MODES = ['query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt'] as const;
type JwtMode = (typeof JWT_MODES)[number];

/** The response JWT, which is all that the browser carries to the client. */
function jwtIn(response: HttpResponse, mode: JwtMode): string {
  const { action, fields } = mode === 'form_post.jwt' ? postedBy(response) : redirection(response, mode);
  assert.equal(action, CALLBACK);
  assert.deepEqual(Object.keys(fields), ['response']);
  return fields.response ?? '';
}

function redirection({ status, headers, body }: HttpResponse, mode: JwtMode) {
  assert.deepEqual([status, body, headers['cache-control']], [303, '', 'no-store']);
  const { origin, pathname, search, hash } = new URL(String(headers.location));
  const [used, unused] = mode === 'fragment.jwt' ? [hash, search] : [search, hash];
  assert.equal(unused, '');
  return {
    action: origin + pathname,
    fields: Object.fromEntries(new URLSearchParams(used.slice(1))) as Readonly<Record<string, string>>,
  };
}

async function claimsIn(world: World, response: HttpResponse, mode: JwtMode = 'jwt') {
  return (await signedAnswer(world, jwtIn(response, mode))).claims;
}

async function granted(world: World, parameters: Parameters = { response_mode: 'jwt' }) {
  return world.server.authorization.complete(await accepted(world, parameters), { subject: 'alice' });
}

/** The claims of every response to the usual client. */
function usualClaims(world: World) {
  return { state: 'xyz', iss: ISSUER, aud: 'web', exp: world.clock.seconds + 300 };
}

for (const response_mode of JWT_MODES) {
  test(`§2.1, §2.3 a code by ${response_mode} is in a JWT of the server for the client, and can be redeemed`, async (t) => {
    const world = await openWorld(t);
    const response = await granted(world, { response_mode });
    const { header, claims } = await signedAnswer(world, jwtIn(response, response_mode));
    const kid = await world.storage.keys.currentKeyId('RS256');
    assert.deepEqual(header, { alg: 'RS256', typ: 'JWT', kid });
    const { code, ...others } = claims;
    assert.match(String(code), /^grantd_ac_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(others, usualClaims(world));
    assert.equal((await world.redeem(String(code))).status, 200);
  });

  test(`§2.1, §2.3 every error by ${response_mode} is in a JWT: of the request, the user and the host`, async (t) => {
    const world = await openWorld(t);
    const errorOf = async (response: HttpResponse) => {
      const { error, error_description, ...others } = await claimsIn(world, response, response_mode);
      assert.deepEqual(others, usualClaims(world));
      assert.equal(typeof error_description, 'string');
      return error;
    };
    const wrong: readonly [Parameters, string][] = [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: undefined }, 'invalid_request'],
      [{ scope: 'admin' }, 'invalid_scope'],
      [{ resource: 'https://other.example' }, 'invalid_target'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ id_token_hint: 'no token' }, 'invalid_request'],
      [{ registration: '{}' }, 'registration_not_supported'],
      [{ request: 'no JWT' }, 'invalid_request_object'],
      [{ request_uri: 'https://web.example/request' }, 'request_uri_not_supported'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:unknown' }, 'invalid_request_uri'],
    ];
    for (const [parameters, expected] of wrong)
      assert.equal(await errorOf(await refusalOf(world, { response_mode, ...parameters })), expected);

    const { authorization } = world.server;
    const request = await accepted(world, { response_mode });
    assert.equal(
      await errorOf(await authorization.refuse(request, 'login_required', 'nobody')),
      'login_required',
    );
    const other = await accepted(world, { response_mode });
    const withdrawn = { subject: 'alice', isStillApproved: async () => false };
    assert.equal(await errorOf(await refused(authorization.complete(other, withdrawn))), 'access_denied');
    await world.storage.setDisabled('subject', 'alice', true);
    assert.equal(await errorOf(await refused(granted(world, { response_mode }))), 'access_denied');
  });
}

test('§2.3.4 the mode jwt is query.jwt for a code', async (t) => {
  const world = await openWorld(t);
  const { headers } = await granted(world, { response_mode: 'jwt' });
  assert.match(
    String(headers.location),
    /^https:\/\/web\.example\/callback\?response=[\w-]+\.[\w-]+\.[\w-]+$/,
  );
});

test('§2.3.1 the response follows the query that the redirect URI already has', async (t) => {
  const world = await openWorld(t);
  const redirectUri = 'https://web.example/callback?tenant=a';
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'own', redirectUris: [redirectUri] });
  const own = { client_id: 'own', redirect_uri: redirectUri, scope: 'openid' };
  const { headers } = await granted(world, { ...own, response_mode: 'query.jwt' });
  assert.match(String(headers.location), /^https:\/\/web\.example\/callback\?tenant=a&response=[\w.-]+$/);
});

test('§2.1 the response of an unchecked client is in a JWT too, and a page asks before it leaves', async (t) => {
  const world = await openWorld(t);
  const client = { ...CLIENTS.web, id: 'stranger', registeredAt: world.clock.seconds };
  await world.storage.clients.add(client);
  const parameters = { client_id: 'stranger', scope: 'admin' };
  const { leaving } = await refusalOf(world, { ...parameters, response_mode: 'jwt' });
  const { searchParams } = new URL(leaving?.redirectTo ?? '');
  assert.deepEqual([...searchParams.keys()], ['response']);
  const posted = await refusalOf(world, { ...parameters, response_mode: 'form_post.jwt' });
  assert.equal(posted.leaving?.redirectTo, CALLBACK);
  for (const jwt of [searchParams.get('response') ?? '', posted.leaving?.formPost?.response ?? '']) {
    const { claims } = await signedAnswer(world, jwt);
    assert.deepEqual([claims.aud, claims.error], ['stranger', 'invalid_scope']);
  }
});

test('§2.1 a response is valid for five minutes, which is less than the ten that are recommended', async (t) => {
  const world = await openWorld(t);
  const issuedAt = world.clock.seconds;
  const jwt = jwtIn(await granted(world), 'jwt');
  assert.equal(decodeJwt(jwt).exp, issuedAt + 300);
});

test('§2.1 state is a claim like any other, and cannot replace one', async (t) => {
  const world = await openWorld(t);
  for (const state of ['{"iss":"https://evil.example"}', 'a&iss=b&response=c', '"\\', '🙂ä', '0', ' ']) {
    const claims = await claimsIn(world, await granted(world, { response_mode: 'jwt', state }));
    assert.deepEqual([claims.state, claims.iss, claims.aud], [state, ISSUER, 'web']);
  }
  const without = await claimsIn(world, await granted(world, { response_mode: 'jwt', state: undefined }));
  assert.deepEqual(Object.keys(without).sort(), ['aud', 'code', 'exp', 'iss']);
});

test('§2.2, §3 the algorithm is the registered one, and RS256 by default', async (t) => {
  const world = await openWorld(t);
  for (const algorithm of [undefined, ...SIGNING_ALGORITHMS]) {
    const metadata: ClientMetadata = algorithm ? { authorization_signed_response_alg: algorithm } : {};
    await setMetadata(world, 'web', metadata);
    const { header } = await signedAnswer(world, jwtIn(await granted(world), 'jwt'));
    const kid = await world.storage.keys.currentKeyId(algorithm ?? 'RS256');
    assert.deepEqual(header, { alg: algorithm ?? 'RS256', typ: 'JWT', kid });
  }
});

test('§3 without a response mode of JARM, a registered algorithm changes nothing', async (t) => {
  const world = await openWorld(t);
  await setMetadata(world, 'web', { authorization_signed_response_alg: 'ES256' });
  const response = await granted(world, {});
  assert.match(codeIn(response), /^grantd_ac_/);
});

/** The response if a service of the host lacks the algorithm: of the registration, or the default. */
const UNSIGNABLE = [
  ['PS256', shown('server_error', 'an unexpected error', 500)],
  [undefined, shown('invalid_request', 'the server does not sign with the algorithm of the client')],
] as const;

test('§2.2 if a host’s own service cannot sign with the algorithm, the request is refused before the user signs in', async (t) => {
  const world = await openWorld(t);
  const server = await secondServer(world, CANNOT_SIGN);
  for (const [authorization_signed_response_alg, expected] of UNSIGNABLE) {
    await setMetadata(world, 'web', {
      ...(authorization_signed_response_alg && { authorization_signed_response_alg }),
    });
    for (const response_mode of JWT_MODES) {
      const request = { scope: 'read', response_mode };
      assert.deepEqual(await refusalOf(server, request), expected);
      assert.equal(server.lastReason, 'answer_algorithm_unsupported');
      assert.deepEqual(await refusalOf(server, { ...request, scope: 'admin' }), expected, 'as any refusal');
      const { status, body } = await server.post('/par', { ...USUAL, ...request }, 'web');
      assert.deepEqual([status, body], [expected.status, expected.body]);
    }
    assert.match(codeIn(await granted(server, { scope: 'read', response_mode: 'query' })), /^grantd_ac_/);
  }
});

test('§2.2 if a host’s own service loses the algorithm after that, no code is issued, and nothing leaves unsigned', async (t) => {
  const world = await openWorld(t);
  const { server, events } = await secondServer(world, CANNOT_SIGN);
  for (const [authorization_signed_response_alg, expected] of UNSIGNABLE) {
    await setMetadata(world, 'web', {
      ...(authorization_signed_response_alg && { authorization_signed_response_alg }),
    });
    const request = await accepted(world, { scope: 'read', response_mode: 'jwt' });
    assert.deepEqual(await refused(server.authorization.complete(request, { subject: 'alice' })), expected);
    assert.deepEqual(await refused(server.authorization.refuse(request, 'access_denied', 'no')), expected);
  }
  const reasons = events.map((event) => event.type === 'refused' && event.reason);
  assert.deepEqual(reasons, Array(4).fill('answer_algorithm_unsupported'));
  assert.deepEqual(await world.storage.grantsOf('alice'), []);
});

test('§2.2 while a response cannot be signed, the request stays open', async (t) => {
  const world = await openWorld(t);
  const { keys } = world.storage;
  const { currentKeyId } = keys;
  const { authorization } = world.server;
  const [granting, refusing] = [await accepted(world, FORM_POST_JWT), await accepted(world, FORM_POST_JWT)];
  keys.currentKeyId = () => Promise.reject(new StorageFault(new Error('down')));
  const steps = [
    authorization.complete(granting, { subject: 'alice' }),
    authorization.refuse(refusing, 'access_denied', 'no'),
    authorization.validate(exactly({ ...USUAL, ...FORM_POST_JWT, scope: 'admin' })),
  ];
  for (const step of steps) {
    const { status, headers } = await refused(step);
    assert.deepEqual([status, headers['retry-after'], headers.location], [503, '1', undefined]);
  }
  assert.deepEqual(await world.storage.grantsOf('alice'), []);
  keys.currentKeyId = currentKeyId;
  const { code } = await claimsIn(
    world,
    await authorization.complete(granting, { subject: 'alice' }),
    'form_post.jwt',
  );
  assert.equal((await world.redeem(String(code))).status, 200);
  const { error } = await claimsIn(
    world,
    await authorization.refuse(refusing, 'access_denied', 'no'),
    'form_post.jwt',
  );
  assert.equal(error, 'access_denied');
});

const FORM_POST_JWT = { response_mode: 'form_post.jwt' };

test('§2.2 a response that is encrypted by registration is a nested JWT, which only the client can read', async (t) => {
  const world = await openWorld(t);
  for (const algorithm of ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const) {
    const { privateKey, publicJwk } = await clientKey(algorithm);
    await setMetadata(world, 'web', {
      authorization_signed_response_alg: 'ES256',
      authorization_encrypted_response_alg: algorithm,
      jwks: { keys: [{ ...(await clientKey('ES256')).publicJwk, use: 'sig' }, publicJwk] },
    });
    for (const response_mode of JWT_MODES) {
      const refusal = await refusalOf(world, { response_mode, scope: 'admin' });
      for (const response of [await granted(world, { response_mode }), refusal]) {
        const { header, content } = await decryptedAnswer(jwtIn(response, response_mode), privateKey);
        const { epk: _, ...others } = header;
        assert.deepEqual(others, { alg: algorithm, enc: 'A128CBC-HS256', kid: publicJwk.kid, cty: 'JWT' });
        const signed = await signedAnswer(world, content);
        assert.equal(signed.header.alg, 'ES256');
        const { code, error, error_description, ...claims } = signed.claims;
        assert.ok(code !== undefined || error !== undefined);
        assert.deepEqual(claims, usualClaims(world));
      }
    }
  }
});

test('§3 content is encrypted as it is registered', async (t) => {
  const world = await openWorld(t);
  const { privateKey, publicJwk } = await clientKey('ECDH-ES');
  for (const encryption of ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const) {
    await setMetadata(world, 'web', {
      authorization_encrypted_response_alg: 'ECDH-ES',
      authorization_encrypted_response_enc: encryption,
      jwks: { keys: [publicJwk] },
    });
    const { header, content } = await decryptedAnswer(jwtIn(await granted(world), 'jwt'), privateKey);
    assert.equal(header.enc, encryption);
    assert.equal((await signedAnswer(world, content)).header.alg, 'RS256');
  }
});

test('§2.2 without an encryption key of the client no code is issued, and nothing leaves the server', async (t) => {
  const world = await openWorld(t);
  await setMetadata(world, 'web', {
    authorization_encrypted_response_alg: 'RSA-OAEP-256',
    jwks: { keys: [(await clientKey('ES256')).publicJwk] },
  });
  const expected = shown('invalid_request', 'the client has no key to encrypt the response to');
  assert.deepEqual(await refused(granted(world)), expected);
  assert.equal(world.lastReason, 'client_key_missing');
  assert.deepEqual(await refusalOf(world, { response_mode: 'jwt', scope: 'admin' }), expected);
  const request = await accepted(world, FORM_POST_JWT);
  assert.deepEqual(
    await refused(world.server.authorization.refuse(request, 'access_denied', 'no')),
    expected,
  );
  assert.deepEqual(await world.storage.grantsOf('alice'), []);
});

test('§2.2, RFC 7748 §6.1, RFC 8017 §3.1 a key that cannot encrypt is the client’s mistake, not a fault of the server', async (t) => {
  const world = await openWorld(t);
  const ofLowOrder = Buffer.alloc(32).toString('base64url');
  const even = Buffer.alloc(256, 0xfe).toString('base64url');
  for (const [algorithm, key] of [
    ['ECDH-ES', { kty: 'OKP', crv: 'X25519', x: ofLowOrder }],
    ['ECDH-ES+A256KW', { kty: 'OKP', crv: 'X25519', x: ofLowOrder }],
    ['RSA-OAEP-256', { kty: 'RSA', n: even, e: 'AQAB' }],
  ] as const) {
    await setMetadata(world, 'web', {
      authorization_encrypted_response_alg: algorithm,
      jwks: { keys: [key] },
    });
    const expected = shown('invalid_request', 'the client has no key to encrypt the response to');
    assert.deepEqual(await refused(granted(world)), expected);
    assert.deepEqual(await refusalOf(world, { response_mode: 'jwt', scope: 'admin' }), expected);
    assert.equal(world.lastReason, 'client_key_missing');
  }
  assert.deepEqual(await world.storage.grantsOf('alice'), []);
});

test('§2.2 while the keys of the client cannot be fetched, it is 503, and the request stays open', async (t) => {
  let outcome: 'failed' | 'refused' | undefined = 'failed';
  const { privateKey, publicJwk } = await clientKey('RSA-OAEP-256');
  const fetchDocument: FetchDocument = async () => {
    if (outcome !== undefined) throw new DocumentError(outcome, 'no');
    return {
      status: 200,
      contentType: 'application/jwk-set+json',
      body: JSON.stringify({ keys: [publicJwk] }),
    };
  };
  const world = await openWorld(t, { fetchDocument });
  await setMetadata(world, 'web', {
    authorization_encrypted_response_alg: 'RSA-OAEP-256',
    jwks_uri: 'https://web.example/jwks',
  });
  const request = await accepted(world, { response_mode: 'jwt' });
  const complete = () => world.server.authorization.complete(request, { subject: 'alice' });
  assert.equal((await refused(complete())).status, 503);
  assert.equal(world.lastReason, 'document_unavailable');
  outcome = 'refused';
  world.clock.advance(60);
  assert.equal((await refused(complete())).status, 400);
  assert.equal(world.lastReason, 'client_keys_refused');
  outcome = undefined;
  world.clock.advance(60);
  const { content } = await decryptedAnswer(jwtIn(await complete(), 'jwt'), privateKey);
  const { code } = (await signedAnswer(world, content)).claims;
  assert.equal((await world.redeem(String(code))).status, 200);
});

test('§2.3 an unknown mode is refused by query, as it cannot be followed', async (t) => {
  const world = await openWorld(t);
  for (const response_mode of ['web_message.jwt', 'JWT', 'query.JWT', '.jwt', 'query.', 'toString'])
    assert.deepEqual(
      await refusalOf(world, { response_mode }),
      redirected('invalid_request', 'the response_mode is not supported'),
    );
});

test('§2.3 the mode of a pushed request and of a request object is kept', async (t) => {
  const world = await openWorld(t);
  const pushed = JSON.parse((await world.post('/par', { ...USUAL, response_mode: 'jwt' }, 'web')).body);
  const named = await accepted(world, { request_uri: pushed.request_uri });
  assert.equal(named.responseMode, 'jwt');
  const signer = await addSigningClient(world, { id: 'signer' });
  const { client_id: _, ...usual } = USUAL;
  const request = await signer.sign({ ...usual, response_mode: 'fragment.jwt' });
  const signed = await world.server.authorization.validate(exactly({ client_id: 'signer', request }));
  const resumed = await world.server.authorization.resume(signed.parameters);
  assert.equal(resumed.responseMode, 'fragment.jwt');
  const response = await world.server.authorization.complete(resumed, { subject: 'alice' });
  const claims = await claimsIn(world, response, 'fragment.jwt');
  assert.equal(claims.aud, 'signer');
});

test('§2.3 a pushed request with an unknown mode is refused', async (t) => {
  const world = await openWorld(t);
  const { status, body } = await world.post('/par', { ...USUAL, response_mode: 'post.jwt' }, 'web');
  assert.deepEqual(
    [status, JSON.parse(body)],
    [400, { error: 'invalid_request', error_description: 'the response_mode is not supported' }],
  );
});

test('§2.2 a response is accepted as no other JWT of this server or its clients', async (t) => {
  const world = await openWorld(t);
  const jwt = jwtIn(await granted(world, { response_mode: 'jwt', state: 'alice' }), 'jwt');
  assert.equal((await world.introspect(jwt)).body, '{"active":false}');
  assert.equal((await world.userInfo(jwt)).status, 401);
  assert.equal((await world.refresh(jwt)).status, 400);
  const hint = await refusalOf(world, { id_token_hint: jwt });
  assert.deepEqual(hint, redirected('invalid_request', 'the id_token_hint is not valid'));
});

test('§4 the metadata list the response modes and the algorithms', async (t) => {
  const { serverMetadata } = (await openWorld(t)).server;
  assert.deepEqual(
    [serverMetadata.response_modes_supported, serverMetadata.authorization_signing_alg_values_supported],
    [['query', 'fragment', 'form_post', ...JWT_MODES], SIGNING_ALGORITHMS],
  );
});

test('§2.4 oauth4webapi validates the responses: of each algorithm, with a code and with an error', async (t) => {
  const world = await openWorld(t);
  const options = libraryOptions(world);
  const server = await discovered(options);
  for (const algorithm of SIGNING_ALGORITHMS) {
    const metadata = { authorization_signed_response_alg: algorithm } as const;
    await setMetadata(world, 'web', metadata);
    const client = { client_id: 'web', ...metadata, [oauth.clockSkew]: options[oauth.clockSkew] };
    const read = async (response: HttpResponse) =>
      oauth.validateJwtAuthResponse(
        server,
        client,
        new URL(String(response.headers.location)),
        'xyz',
        options,
      );
    const code = (await read(await granted(world))).get('code');
    assert.equal((await world.redeem(code ?? '')).status, 200);
    const request = await accepted(world, { response_mode: 'jwt' });
    const refusal = await world.server.authorization.refuse(request, 'access_denied', 'no');
    await assert.rejects(read(refusal), { error: 'access_denied', error_description: 'no' });
  }
});
