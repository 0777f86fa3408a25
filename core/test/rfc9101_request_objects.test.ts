// § refers to RFC 9101.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  CLIENT_ALGORITHMS,
  DocumentError,
  type FetchDocument,
  type HttpResponse,
  type NewClient,
} from '@grantd/core';
import { documentFetcher } from '@grantd/core/node';
import { CompactEncrypt, CompactSign, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import {
  accepted,
  addSigningClient,
  asked,
  CALLBACK,
  exactly,
  type Parameters,
  redirected,
  refusalOf,
  refused,
  type SigningClient,
  shown,
  USUAL,
} from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { openRemoteSite } from './harness/remote_site.ts';
import { CHALLENGE, ISSUER, openWorld, type World, type WorldOptions } from './harness/world.ts';

const SIGNED = { ...USUAL, client_id: 'signer', state: 'signed' };
/** The parameters that OpenID Connect Core §6.1 also requires outside. */
const OUTSIDE = { client_id: 'signer', response_type: 'code', scope: 'openid', redirect_uri: CALLBACK };

interface Stage extends SigningClient {
  readonly world: World;
}

async function openStage(
  t: TestContext,
  options: WorldOptions = {},
  client: Partial<NewClient> = {},
): Promise<Stage> {
  const world = await openWorld(t, options);
  return { world, ...(await addSigningClient(world, { ...client, id: 'signer' })) };
}

function ask({ world }: Stage, parameters: Parameters) {
  return world.server.authorization.validate(exactly({ client_id: 'signer', ...parameters }));
}

/** The refusal of a request object, with a redirect URI of the client outside. */
function refusedObject({ world }: Stage, request: string): Promise<HttpResponse> {
  return refusalOf(world, { request }, OUTSIDE);
}

function invalid(description: string, error = 'invalid_request_object'): HttpResponse {
  return redirected(error, description, { state: null });
}

const WRONG_SIGNATURE = invalid('the signature of the request object is wrong');
const MALFORMED = invalid('the request object is malformed');

test('§5 a signed request object is a request, with only client_id outside', async (t) => {
  const stage = await openStage(t);
  const request = await ask(stage, { request: await stage.sign(SIGNED) });
  assert.deepEqual(asked(request).parameters, SIGNED);
  assert.deepEqual([request.scopes, request.state], [['openid', 'read'], 'signed']);
  assert.deepEqual(await stage.world.server.authorization.resume(request.parameters), request);
});

test('§6.3 only the inside counts, even missing parameters', async (t) => {
  const stage = await openStage(t);
  const { nonce, prompt, state, scopes } = await ask(stage, {
    ...OUTSIDE,
    scope: 'openid write',
    nonce: 'outside',
    prompt: 'login',
    state: 'outside',
    request: await stage.sign({ ...SIGNED, state: undefined }),
  });
  assert.deepEqual(
    { nonce, prompt, state, scopes },
    {
      nonce: undefined,
      prompt: [],
      state: undefined,
      scopes: ['openid', 'read'],
    },
  );
  const { code_challenge: _, ...without } = SIGNED;
  const response = await refused(
    ask(stage, { code_challenge: CHALLENGE, request: await stage.sign(without) }),
  );
  const description = 'the parameter code_challenge is missing';
  assert.deepEqual(response, redirected('invalid_request', description, { state: 'signed' }));
});

test('§4 parameters that are no texts are what a form would say', async (t) => {
  const stage = await openStage(t, { defaultAudience: [ISSUER, 'https://other.example'] });
  const claims = { id_token: { auth_time: { essential: true } } };
  const request = await ask(stage, {
    request: await stage.sign({
      ...SIGNED,
      max_age: 300,
      claims,
      resource: [ISSUER, 'https://other.example'],
      ui_locales: null,
      exp: stage.world.clock.seconds + 60,
      nbf: stage.world.clock.seconds,
      iat: stage.world.clock.seconds,
      jti: 'x',
    }),
  });
  assert.equal(request.maxAge, 300);
  assert.deepEqual(request.claims, claims);
  assert.deepEqual(request.resources, [ISSUER, 'https://other.example']);
  assert.deepEqual(asked(request).parameters, {
    ...SIGNED,
    max_age: '300',
    claims: JSON.stringify(claims),
    resource: `${ISSUER} https://other.example`,
  });
});

test('§4 a parameter of the wrong kind does not count as absent', async (t) => {
  const stage = await openStage(t);
  for (const [claims, response] of [
    [{ scope: ['openid'] }, redirected('invalid_scope', 'the scope is malformed', { state: 'signed' })],
    [{ prompt: ['none'] }, redirected('invalid_request', 'the prompt is not allowed', { state: 'signed' })],
    [
      { redirect_uri: [CALLBACK] },
      shown('invalid_request', 'the redirect_uri is not registered for this client'),
    ],
  ] as const) {
    assert.deepEqual(
      await refused(ask(stage, { request: await stage.sign({ ...SIGNED, ...claims }) })),
      response,
    );
  }
});

test('§6.2 every algorithm in the metadata works, each with a matching key', async (t) => {
  const world = await openWorld(t);
  const told = world.server.serverMetadata.request_object_signing_alg_values_supported;
  assert.deepEqual(told, [...CLIENT_ALGORITHMS, 'Ed25519']);
  for (const algorithm of CLIENT_ALGORITHMS) {
    const { sign } = await addSigningClient(world, { id: algorithm }, algorithm);
    const stage = { world, sign } as Stage;
    for (const alg of algorithm === 'EdDSA' ? [algorithm, 'Ed25519'] : [algorithm]) {
      const request = await sign({ ...SIGNED, client_id: algorithm }, { alg });
      assert.equal((await ask(stage, { client_id: algorithm, request })).state, 'signed');
    }
  }
});

test('§10.8 the type is that of a request object, or says no more than JWT', async (t) => {
  const stage = await openStage(t);
  for (const typ of [
    'oauth-authz-req+jwt',
    'OAuth-Authz-Req+JWT',
    'application/oauth-authz-req+jwt',
    'JWT',
    'jwt',
    undefined,
  ]) {
    await ask(stage, { request: await stage.sign(SIGNED, { typ }) });
  }
  for (const typ of [
    'at+jwt',
    'rt+jwt',
    'logout+jwt',
    'dpop+jwt',
    'client-authentication+jwt',
    '',
    'application/at+jwt',
  ]) {
    const response = await refusedObject(stage, await stage.sign(SIGNED, { typ }));
    assert.deepEqual(response, invalid('the type of the request object is not allowed'), typ);
  }
});

test('an object without signature is invalid_request_object, whatever the client registered (RFC 9101 §6.2)', async (t) => {
  const stage = await openStage(t);
  const unsigned = new UnsecuredJWT({ ...SIGNED, iss: 'signer', aud: ISSUER }).encode();
  const response = await refusedObject(stage, unsigned);
  assert.deepEqual(response, invalid('the request object is not signed'));
  assert.equal(stage.world.lastReason, 'request_object_malformed');

  // No signature, or `none` in another spelling.
  const [header = '', payload = ''] = (await stage.sign(SIGNED)).split('.');
  assert.deepEqual(await refusedObject(stage, `${header}.${payload}.`), WRONG_SIGNATURE);
  for (const alg of ['None', 'NONE', 'nOnE', '', 'HS256', 'RS1', 'ES256K']) {
    const head = Buffer.from(JSON.stringify({ alg, typ: 'JWT' })).toString('base64url');
    const description = 'the algorithm of the request object is not allowed';
    assert.deepEqual(await refusedObject(stage, `${head}.${payload}.`), invalid(description), alg);
  }
});

test('§6.2 HS256 with the public key as its secret, or with the client secret, is refused', async (t) => {
  const world = await openWorld(t);
  const stage = { world, ...(await addSigningClient(world, { id: 'signer' }, 'RS256')) };
  for (const secret of [await exportSPKI(stage.publicKey), 'the secret of signer, with enough characters']) {
    const forged = await new SignJWT(SIGNED)
      .setProtectedHeader({ alg: 'HS256', kid: 'key of signer' })
      .sign(new TextEncoder().encode(secret));
    const description = 'the algorithm of the request object is not allowed';
    assert.deepEqual(await refusedObject(stage, forged), invalid(description));
  }
});

test('§6.2 the wrong key, another client’s key, and a key inside the object are all refused', async (t) => {
  const stage = await openStage(t);
  const other = await addSigningClient(stage.world, { id: 'other' });
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const claims = { ...SIGNED, iss: 'signer', aud: ISSUER };
  const signedWith = (key: typeof privateKey, header: object) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(key);
  const jwk = await crypto.subtle.exportKey('jwk', publicKey);
  for (const [request, response] of [
    [await signedWith(privateKey, { kid: 'key of signer' }), WRONG_SIGNATURE],
    [await signedWith(privateKey, { kid: 'key of signer', jwk }), WRONG_SIGNATURE],
    [await signedWith(privateKey, { jwk }), WRONG_SIGNATURE],
    [await signedWith(other.privateKey, { kid: 'key of signer' }), WRONG_SIGNATURE],
    [
      await signedWith(other.privateKey, { kid: 'key of other' }),
      invalid('the client has no key that matches the request object'),
    ],
    [
      await signedWith(privateKey, { kid: 'unknown', jku: 'https://evil.example/jwks' }),
      invalid('the client has no key that matches the request object'),
    ],
  ] as const) {
    assert.deepEqual(await refusedObject(stage, request), response);
  }
  assert.equal(stage.world.lastReason, 'request_object_wrong_key');
  const keyless = { ...OUTSIDE, client_id: 'web' };
  const response = await refusalOf(stage.world, { request: await stage.sign({ ...USUAL }) }, keyless);
  assert.deepEqual(response, invalid('the client has no key that matches the request object'));
});

test('§6.2 the client’s own choice of an algorithm is the only one', async (t) => {
  const world = await openWorld(t);
  const metadata = { request_object_signing_alg: 'PS256' } as const;
  const stage = { world, ...(await addSigningClient(world, { id: 'signer', metadata }, 'RS256')) };
  const description = 'the algorithm of the request object is not allowed';
  assert.deepEqual(await refusedObject(stage, await stage.sign(SIGNED)), invalid(description));
  const { publicKey: _, privateKey } = await generateKeyPair('ES256');
  const forged = await new SignJWT(SIGNED).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  assert.deepEqual(await refusedObject(stage, forged), invalid(description));
});

test('§4, §5, §10.8 it is of this client, for this server, now, and no other JWT of the client', async (t) => {
  const stage = await openStage(t);
  const now = stage.world.clock.seconds;
  const notOfClient = 'the request object is from another client';
  const notForServer = 'the request object is not for this server';
  const notNow = 'the request object is not valid at this time';
  for (const [claims, description] of [
    [{ client_id: 'web' }, notOfClient],
    [{ client_id: undefined }, notOfClient],
    [{ client_id: ['signer'] }, notOfClient],
    [{ iss: 'web' }, notOfClient],
    [{ iss: ISSUER }, notOfClient],
    [{ aud: 'https://other-as.example' }, notForServer],
    [{ aud: `${ISSUER}/` }, notForServer],
    [{ aud: ['https://other-as.example'] }, notForServer],
    [{ aud: [] }, notForServer],
    [{ exp: undefined }, 'the request object has no exp'],
    [{ exp: now }, notNow],
    [{ exp: now - 1 }, notNow],
    [{ exp: String(now + 60) }, notNow],
    [{ nbf: now + 61 }, notNow],
    [{ nbf: 'now' }, notNow],
    [{ sub: 'signer' }, 'a client assertion cannot be used as a request object'],
    [{ request: 'x' }, 'the request object has a parameter that is not allowed'],
    [{ request_uri: 'https://signer.example/r' }, 'the request object has a parameter that is not allowed'],
    [{ state: '\ud800' }, 'the request object has a parameter that is not allowed'],
  ] as const) {
    const response = await refusedObject(stage, await stage.sign({ ...SIGNED, ...claims }));
    assert.deepEqual(response, invalid(description), JSON.stringify(claims));
  }
  assert.equal(stage.world.lastReason, 'request_object_wrong_claims');
  for (const claims of [
    { aud: [ISSUER, 'https://other-as.example'] },
    { aud: undefined, iss: undefined },
    { exp: now + 1 },
    { exp: now + 3600 },
    { nbf: now + 60, exp: now + 3660 },
    { sub: 'alice' },
  ]) {
    await ask(stage, { request: await stage.sign({ ...SIGNED, ...claims }) });
  }
});

const TOO_LONG = 'the request object is valid for more than 60 minutes';

test('a sent request object needs exp, and lives for an hour at most', async (t) => {
  const stage = await openStage(t);
  const now = stage.world.clock.seconds;
  for (const [claims, description] of [
    [{ exp: undefined }, 'the request object has no exp'],
    [{ exp: undefined, nbf: now }, 'the request object has no exp'],
    [{ exp: now + 30 * 365 * 24 * 3600 }, TOO_LONG],
    [{ exp: now + 3661 }, TOO_LONG],
    [{ exp: now + 3601, nbf: now }, TOO_LONG],
    [{ exp: now + 60, nbf: now - 70 * 60 }, TOO_LONG],
  ] as const) {
    const response = await refusedObject(stage, await stage.sign({ ...SIGNED, ...claims }));
    assert.deepEqual(response, invalid(description), JSON.stringify(claims));
  }
  for (const claims of [
    { exp: now + 3600 },
    { exp: now + 3600, nbf: now },
    { exp: now + 1, nbf: now - 3599 },
  ])
    await ask(stage, { request: await stage.sign({ ...SIGNED, ...claims }) });
});

test('a fetched request object may come without exp, but does not live longer than an hour', async (t) => {
  let body = '';
  const request_uri = 'https://signer.example/request.jwt';
  const fetchDocument: FetchDocument = async () => ({ status: 200, contentType: undefined, body });
  const options = { fetchDocument };
  const stage = await openStage(t, options, { metadata: { request_uris: [request_uri] } });
  body = await stage.sign({ ...SIGNED, exp: undefined });
  assert.equal((await ask(stage, { request_uri })).state, 'signed');
  body = await stage.sign({ ...SIGNED, exp: stage.world.clock.seconds + 3661 });
  assert.deepEqual(await refusalOf(stage.world, { request_uri }, OUTSIDE), invalid(TOO_LONG));
});

test('with strictRequestObjects every object needs nbf and exp, an hour apart at most', async (t) => {
  let body = '';
  const request_uri = 'https://signer.example/request.jwt';
  const fetchDocument: FetchDocument = async () => ({ status: 200, contentType: undefined, body });
  const options = { fetchDocument, strictRequestObjects: true };
  const stage = await openStage(t, options, { metadata: { request_uris: [request_uri] } });
  const now = stage.world.clock.seconds;
  for (const [claims, description] of [
    [{ nbf: now, exp: undefined }, 'the request object has no exp'],
    [{ exp: now + 60 }, 'the request object has no nbf'],
    [{ nbf: now, exp: now + 70 * 60 }, TOO_LONG],
    [{ nbf: now - 70 * 60, exp: now + 60 }, TOO_LONG],
  ] as const) {
    body = await stage.sign({ ...SIGNED, ...claims });
    assert.deepEqual(await refusedObject(stage, body), invalid(description), JSON.stringify(claims));
    assert.deepEqual(await refusalOf(stage.world, { request_uri }, OUTSIDE), invalid(description));
  }
  const request = await stage.sign({ ...SIGNED, nbf: now - 60, exp: now + 60 });
  assert.equal((await ask(stage, { request })).state, 'signed');
});

test('§5 client and response_type outside are those inside', async (t) => {
  const stage = await openStage(t);
  const request = await stage.sign(SIGNED);
  const response = await refusalOf(stage.world, { response_type: 'token', request }, OUTSIDE);
  assert.deepEqual(response, invalid('the response_type differs from the one in the request object'));
  const asOther = await refusalOf(stage.world, { client_id: 'web', request }, OUTSIDE);
  assert.deepEqual(asOther, invalid('the client has no key that matches the request object'));
  const nobody = await refusalOf(stage.world, { client_id: undefined, request }, OUTSIDE);
  assert.deepEqual(nobody, shown('invalid_request', 'the parameter client_id is missing'));
});

test('§6.1 an encrypted object is not supported, and neither is anything that is no JWT', async (t) => {
  const stage = await openStage(t);
  const { publicKey } = await generateKeyPair('RSA-OAEP-256');
  const encrypted = await new CompactEncrypt(new TextEncoder().encode(await stage.sign(SIGNED)))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT' })
    .encrypt(publicKey);
  const description = 'encrypted request objects are not supported';
  assert.deepEqual(await refusedObject(stage, encrypted), invalid(description, 'request_not_supported'));

  const head = Buffer.from('{"alg":"ES256","kid":"key of signer"}').toString('base64url');
  for (const request of [
    'x',
    'a.b.c',
    '....',
    '..',
    `${head}`,
    `${head}.e30`,
    'null',
    '{}',
    `[${head}]`,
    'ä.ö.ü',
  ]) {
    const { headers } = await refusedObject(stage, request);
    assert.match(String(headers.location), /error=(invalid_request_object|request_not_supported)&/, request);
  }
  for (const header of [{ kid: 5 }, { typ: {} }, { kid: ['key of signer'] }]) {
    assert.deepEqual(await refusedObject(stage, await stage.sign(SIGNED, header)), MALFORMED);
  }
  const sign = (payload: string | Uint8Array) =>
    signCompact(stage, typeof payload === 'string' ? new TextEncoder().encode(payload) : payload);
  for (const payload of ['[]', '"text"', 'null', '', '{', new Uint8Array([0x7b, 0xff, 0x7d])]) {
    assert.deepEqual(await refusedObject(stage, await sign(payload)), MALFORMED);
  }
});

test('§6.2 extensions that must be understood are not', async (t) => {
  const stage = await openStage(t);
  const head = { alg: 'ES256', kid: 'key of signer', crit: ['exp'], exp: 1 };
  const [, payload = '', signature = ''] = (await stage.sign(SIGNED)).split('.');
  const request = `${Buffer.from(JSON.stringify(head)).toString('base64url')}.${payload}.${signature}`;
  assert.deepEqual(await refusedObject(stage, request), WRONG_SIGNATURE);
});

test('§10.5 a client that must sign its requests cannot do otherwise', async (t) => {
  const stage = await openStage(t, {}, { metadata: { require_signed_request_object: true } });
  const description = 'the request must be a signed request object';
  const plain = await refusalOf(stage.world, {}, SIGNED);
  assert.deepEqual(plain, redirected('invalid_request', description, { state: 'signed' }));
  const { parameters } = await ask(stage, { request: await stage.sign(SIGNED) });
  await stage.world.server.authorization.resume(parameters);
});

test('§7 without a redirect URI outside, a refused object stays at the server', async (t) => {
  const stage = await openStage(t);
  const forged = `${await stage.sign(SIGNED)}A`;
  const here = shown('invalid_request_object', 'the signature of the request object is wrong');
  assert.deepEqual(await refused(ask(stage, { request: forged })), here);
  // Parameters of an object count only after verification: no open redirect, not even to another URI of the client.
  const evil = await stage.sign({ ...SIGNED, redirect_uri: 'https://evil.example/' });
  const mismatch = shown('invalid_request', 'the redirect_uri is not registered for this client');
  assert.deepEqual(await refused(ask(stage, { request: evil, redirect_uri: CALLBACK })), mismatch);
  const outside = await refusalOf(
    stage.world,
    { request: forged, redirect_uri: 'https://evil.example/' },
    OUTSIDE,
  );
  assert.deepEqual(outside, here);
});

test('§5 request with request_uri is refused', async (t) => {
  const stage = await openStage(t);
  const request = await stage.sign(SIGNED);
  const both = await refusalOf(stage.world, { request, request_uri: 'https://signer.example/r' }, OUTSIDE);
  assert.deepEqual(both, invalid('expected request or request_uri, not both', 'invalid_request'));
});

test('§10 an object that says more than a request may is refused, an endless one at its size', async (t) => {
  const stage = await openStage(t);
  const request = await stage.sign({ ...SIGNED, state: 'x'.repeat(6200) });
  const tooLong = shown('invalid_request', 'the request is longer than 6144 characters');
  assert.deepEqual(await refused(ask(stage, { request })), tooLong);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = `client_id=signer&request=${'x'.repeat(70_000)}`;
  const response = await refused(
    stage.world.server.authorization.validate({ method: 'POST', url: '/authorize', headers, body }),
  );
  assert.equal(response.status, 413);
  const deep = Buffer.from(`{"alg":${'['.repeat(20_000)}`).toString('base64url');
  assert.deepEqual(await refusedObject(stage, `${deep}.e30.x`), MALFORMED);
});

// ── By reference ───────────────────────────────────────────────────────────────────────────────────────────

test('§5.2.3 a registered request_uri is fetched, whatever its fragment', async (t) => {
  const asked: string[] = [];
  let body = '';
  const fetchDocument: FetchDocument = async (url) => {
    asked.push(url);
    return { status: 200, contentType: 'application/oauth-authz-req+jwt', body };
  };
  const address = 'https://signer.example/request.jwt?x=1';
  const metadata = { request_uris: [`${address}#version1`] };
  const stage = await openStage(t, { fetchDocument }, { metadata });
  body = `${await stage.sign(SIGNED)}\n`;
  for (const request_uri of [address, `${address}#version1`, `${address}#version2`]) {
    assert.equal((await ask(stage, { request_uri })).state, 'signed');
  }
  assert.deepEqual(asked, [address, address, address]);
});

test('§10.4 a URI that is neither registered nor of an allowed host is not fetched', async (t) => {
  const asked: string[] = [];
  let body = '';
  const fetchDocument: FetchDocument = async (url) => {
    asked.push(url);
    return { status: 200, contentType: undefined, body };
  };
  const metadata = { request_uris: ['https://signer.example/request.jwt'] };
  const options = { fetchDocument, requestUriHosts: ['objects.example', 'objects.example:8443'] };
  const stage = await openStage(t, options, { metadata });
  body = await stage.sign(SIGNED);
  for (const request_uri of [
    'https://objects.example/a',
    'https://objects.example:8443/a',
    'https://OBJECTS.example/b',
  ]) {
    await ask(stage, { request_uri });
  }
  assert.equal(asked.length, 3);
  for (const request_uri of [
    'https://signer.example/request.jwt?x',
    'https://signer.example/request.jwt/',
    'https://signer.example/other.jwt',
    'https://signer.example:8443/request.jwt',
    'http://signer.example/request.jwt',
    'http://objects.example/a',
    'https://objects.example:444/a',
    'https://objects.example.evil.example/a',
    'https://evil.example/objects.example',
    'https://objects.example@evil.example/a',
    'https://127.0.0.1/a',
    'https://[::1]/a',
    'https://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'data:text/plain,x',
    'urn:example:x',
    '/relative',
    `https://objects.example/${'a'.repeat(500)}`,
  ]) {
    const response = await refusalOf(stage.world, { request_uri }, OUTSIDE);
    assert.deepEqual(response, invalid('the request_uri is not allowed', 'invalid_request_uri'), request_uri);
  }
  assert.equal(asked.length, 3);
  assert.equal(stage.world.lastReason, 'request_uri_not_allowed');
});

test('a document that cannot be fetched is invalid_request_uri, one that is no object invalid_request_object (RFC 9101 §7)', async (t) => {
  let answer: () => ReturnType<FetchDocument> = () => Promise.reject(new Error('not set'));
  const metadata = { request_uris: ['https://signer.example/r'] };
  const stage = await openStage(t, { fetchDocument: () => answer() }, { metadata });
  const fetched = (status: number, body: string) => async () => ({ status, contentType: 'text/html', body });
  const cannot = invalid('the request_uri cannot be fetched', 'invalid_request_uri');
  for (const [next, expected] of [
    [fetched(404, await stage.sign(SIGNED)), cannot],
    [fetched(302, ''), cannot],
    [() => Promise.reject(new DocumentError('refused', 'a private address')), cannot],
    [() => Promise.reject(new DocumentError('failed', 'no answer')), cannot],
    [fetched(503, ''), cannot],
    [fetched(429, ''), cannot],
    [fetched(200, '<html>'), MALFORMED],
    [fetched(200, ''), MALFORMED],
    [fetched(200, `${await stage.sign(SIGNED)}A`), WRONG_SIGNATURE],
  ] as const) {
    answer = next;
    assert.deepEqual(
      await refusalOf(stage.world, { request_uri: 'https://signer.example/r' }, OUTSIDE),
      expected,
    );
  }
  answer = () => Promise.reject(new TypeError('a mistake of the host'));
  const broken = await refusalOf(stage.world, { request_uri: 'https://signer.example/r' }, OUTSIDE);
  assert.deepEqual(broken, shown('server_error', 'an unexpected error', 500));
});

test('§10.4.1 the server cannot be led into its own network', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.end('a secret'));
  const request_uri = `${site.origin}/request.jwt`;
  const stage = await openStage(
    t,
    { fetchDocument: documentFetcher() },
    { metadata: { request_uris: [request_uri, `https://localhost:${site.port}/r`] } },
  );
  for (const uri of [request_uri, `https://localhost:${site.port}/r`]) {
    const response = await refusalOf(stage.world, { request_uri: uri }, OUTSIDE);
    assert.deepEqual(response, invalid('the request_uri cannot be fetched', 'invalid_request_uri'));
  }
  assert.equal(stage.world.lastReason, 'request_uri_unreachable');
  assert.deepEqual(site.requests, []);
});

test('§5.2.3 over real HTTP, with loopback allowed for development', async (t) => {
  let body = '';
  const site = await openRemoteSite(t, (_, response) => response.end(body));
  const request_uri = `${site.origin}/request.jwt`;
  const stage = await openStage(
    t,
    { fetchDocument: documentFetcher({ allowPrivateAddresses: true }) },
    { metadata: { request_uris: [request_uri] } },
  );
  body = await stage.sign(SIGNED);
  assert.equal((await ask(stage, { request_uri })).state, 'signed');
  assert.equal(site.requests[0]?.headers.accept, 'application/oauth-authz-req+jwt, application/jwt');
  body = 'x'.repeat(17 * 1024);
  const response = await refusalOf(stage.world, { request_uri }, OUTSIDE);
  assert.deepEqual(response, invalid('the request_uri cannot be fetched', 'invalid_request_uri'));
});

test('§5.2 without a way of fetching, request_uri is not supported', async (t) => {
  const metadata = { request_uris: ['https://signer.example/r'] };
  const stage = await openStage(t, {}, { metadata });
  const response = await refusalOf(stage.world, { request_uri: 'https://signer.example/r' }, OUTSIDE);
  assert.deepEqual(response, invalid('request_uri is not supported', 'request_uri_not_supported'));
});

test('§6.2 keys that may not be fetched are an error for the client, with the cause for the operator; without a response they are an outage', async (t) => {
  const askWith = async (cause: DocumentError) => {
    const world = await openWorld(t, { fetchDocument: () => Promise.reject(cause) });
    const { sign } = await addSigningClient(world, { id: 'signer' });
    await changeClient(world, 'signer', { metadata: { jwks_uri: 'https://signer.example/jwks' } });
    const response = await refusalOf(world, { request: await sign(SIGNED) }, OUTSIDE);
    const event = world.events.at(-1);
    assert.ok(event?.type === 'refused' && event.cause instanceof DocumentError);
    assert.equal(event.cause.message, cause.message);
    if (cause.outcome === 'failed') assert.equal(event.clientId, 'signer');
    return response;
  };
  const refusal = await askWith(new DocumentError('refused', 'a private address'));
  assert.deepEqual(refusal, invalid('the keys of the client cannot be fetched'));
  const outage = await askWith(new DocumentError('failed', 'no answer'));
  assert.deepEqual([outage.status, outage.headers['retry-after']], [503, '10']);
});

test('accepted without an object, a signing client is like any other', async (t) => {
  const { world } = await openStage(t);
  assert.equal((await accepted(world, SIGNED)).state, 'signed');
});

async function signCompact({ privateKey }: Stage, payload: Uint8Array): Promise<string> {
  return new CompactSign(payload).setProtectedHeader({ alg: 'ES256', kid: 'key of signer' }).sign(privateKey);
}
