// § refers to RFC 9701.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer, DocumentError, type FetchDocument, SIGNING_ALGORITHMS } from '@grantd/core';
import { decryptedAnswer, signedAnswer } from './harness/answer_jwts.ts';
import { asParameters, assertionOf, clientKey } from './harness/client_keys.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { ON_MEMORY } from './harness/places.ts';
import { CLIENT_CHALLENGE, errorOf, INACTIVE, JSON_HEADERS, REVOKED } from './harness/responses.ts';
import { CANNOT_SIGN } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CLIENTS,
  type ClientId,
  ISSUER,
  OIDC_OFF,
  openWorld,
  SECRET,
  specification,
  type World,
} from './harness/world.ts';

const MEDIA_TYPE = 'application/token-introspection+jwt';
const JWT_HEADERS = { 'content-type': MEDIA_TYPE, 'cache-control': 'no-store' };
const NO_KEY = errorOf(400, 'invalid_request', 'the client has no key to encrypt the response to');

/** The response to a client that asks for a JWT. */
function introspectAsJwt(
  world: World,
  token: string,
  as: ClientId | null = 'api',
  parameters: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return world.post('/token/introspect', { token, ...parameters }, as, { accept: MEDIA_TYPE });
}

/** Whether a response is a JWT. Otherwise it is JSON. */
function isJwt({ status, headers }: TestResponse): boolean {
  assert.equal(status, 200);
  return headers['content-type'] === MEDIA_TYPE;
}

specification('Introspection as a JWT (RFC 9701)', ON_MEMORY, (spec) => {
  spec.http(
    '§5 the response is a JWT of the server for the caller, with the members of RFC 7662 in token_introspection',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      for (const token of [access_token, refresh_token, await world.machineToken()]) {
        const { status, headers, body } = await introspectAsJwt(world, token);
        assert.deepEqual([status, headers], [200, JWT_HEADERS]);
        const { header, claims } = await signedAnswer(world, body);
        const kid = await world.storage.keys.currentKeyId('RS256');
        assert.deepEqual(header, { alg: 'RS256', typ: 'token-introspection+jwt', kid });
        assert.deepEqual(claims, {
          iss: ISSUER,
          aud: 'api',
          iat: world.clock.seconds,
          token_introspection: JSON.parse((await world.introspect(token)).body),
        });
      }
    },
  );

  spec('§5 for an inactive token the response has active false, and nothing else', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const code = await world.code();
    const expected = {
      iss: ISSUER,
      aud: 'api',
      iat: world.clock.seconds,
      token_introspection: { active: false },
    };
    const claimsOf = async (token: string, parameters: Readonly<Record<string, string>> = {}) =>
      (await signedAnswer(world, (await introspectAsJwt(world, token, 'api', parameters)).body)).claims;
    await world.revoke(access_token);
    for (const token of [access_token, refresh_token, 'no token', `${access_token}x`, code]) {
      assert.deepEqual(await claimsOf(token), expected, token);
    }
    assert.deepEqual(await claimsOf(await world.machineToken(), { token_type_hint: 'auth_code' }), expected);
    const expired = await world.machineToken();
    world.clock.advance(3600);
    assert.deepEqual(await claimsOf(expired), { ...expected, iat: world.clock.seconds });
  });

  spec(
    '§5 a token that the policy keeps from the caller is inactive in a JWT as in JSON',
    async (world) => {
      const { access_token } = await world.grant();
      const membersFor = async (caller: ClientId) =>
        (await signedAnswer(world, (await introspectAsJwt(world, access_token, caller)).body)).claims
          .token_introspection;
      assert.deepEqual(await membersFor('machine'), { active: false });
      assert.equal(world.lastReason, 'policy');
      assert.deepEqual(
        await membersFor('api'),
        JSON.parse((await world.introspect(access_token, 'api')).body),
      );
    },
    { introspectionPolicy: 'audience', defaultAudience: 'https://api.example' },
  );

  spec.http('§4 who names the media type gets a JWT, all others JSON', async (world) => {
    const token = await world.machineToken();
    const accepts: readonly [string | undefined, boolean][] = [
      [undefined, false],
      ['*/*', false],
      ['application/*', false],
      ['application/json', false],
      ['application/jwt', false],
      ['text/html, application/xhtml+xml', false],
      [MEDIA_TYPE, true],
      ['Application/Token-Introspection+JWT', true],
      [`${MEDIA_TYPE}, application/json`, true],
      [`application/json, ${MEDIA_TYPE}`, true],
      [`application/json;q=0.9, ${MEDIA_TYPE};q=0.8`, false],
      [`application/json;q=0.5, ${MEDIA_TYPE} ; q=0.8`, true],
      [`${MEDIA_TYPE};q=0`, false],
      [`${MEDIA_TYPE};q=high`, false],
      [`*/*, ${MEDIA_TYPE};q=0.1`, true],
      [`${MEDIA_TYPE}x`, false],
      ['', false],
    ];
    for (const [accept, expected] of accepts) {
      const headers = accept === undefined ? {} : { accept };
      const response = await world.post('/token/introspect', { token }, 'api', headers);
      assert.equal(isJwt(response), expected, accept ?? 'none');
    }
  });

  spec(
    '§6 a client registered for an algorithm gets a JWT that is signed with it, whatever Accept says',
    async (world) => {
      const { access_token } = await world.grant();
      for (const algorithm of SIGNING_ALGORITHMS) {
        await setMetadata(world, 'api', { introspection_signed_response_alg: algorithm });
        for (const accept of ['*/*', 'application/json', MEDIA_TYPE]) {
          const response = await world.post('/token/introspect', { token: access_token }, 'api', { accept });
          assert.deepEqual([response.status, response.headers], [200, JWT_HEADERS]);
          const { header, claims } = await signedAnswer(world, response.body);
          assert.deepEqual([header.alg, header.typ], [algorithm, 'token-introspection+jwt']);
          const plain = JSON.parse((await world.introspect(access_token, 'machine')).body);
          assert.deepEqual(claims.token_introspection, plain);
        }
      }
    },
  );

  spec(
    '§5, §6 a response that is encrypted by registration is a nested JWT, which only the caller can read',
    async (world) => {
      const { access_token } = await world.grant();
      const plain = JSON.parse((await world.introspect(access_token, 'machine')).body);
      for (const algorithm of ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const) {
        const { privateKey, publicJwk } = await clientKey(algorithm);
        const signingJwk = (await clientKey('ES256')).publicJwk;
        await setMetadata(world, 'api', {
          introspection_encrypted_response_alg: algorithm,
          jwks: { keys: [{ ...signingJwk, use: 'sig' }, publicJwk] },
        });
        const { status, headers, body } = await introspectAsJwt(world, access_token);
        assert.deepEqual([status, headers], [200, JWT_HEADERS]);
        const { header, content } = await decryptedAnswer(body, privateKey);
        const { epk: _, ...others } = header;
        assert.deepEqual(others, { alg: algorithm, enc: 'A128CBC-HS256', kid: publicJwk.kid, cty: 'JWT' });
        const signed = await signedAnswer(world, content);
        assert.deepEqual([signed.header.alg, signed.header.typ], ['RS256', 'token-introspection+jwt']);
        const { clock } = world;
        assert.deepEqual(signed.claims, {
          iss: ISSUER,
          aud: 'api',
          iat: clock.seconds,
          token_introspection: plain,
        });
      }
    },
  );

  spec('§6 content is encrypted as it is registered', async (world) => {
    const { privateKey, publicJwk } = await clientKey('ECDH-ES');
    for (const encryption of ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const) {
      await setMetadata(world, 'api', {
        introspection_signed_response_alg: 'ES256',
        introspection_encrypted_response_alg: 'ECDH-ES',
        introspection_encrypted_response_enc: encryption,
        jwks: { keys: [publicJwk] },
      });
      const { header, content } = await decryptedAnswer((await world.introspect('x')).body, privateKey);
      assert.equal(header.enc, encryption);
      const { header: inner, claims } = await signedAnswer(world, content);
      assert.equal(inner.alg, 'ES256');
      assert.deepEqual(claims.token_introspection, { active: false });
    }
  });

  spec(
    '§8.2 a client registered for encryption never gets another form, whatever Accept says',
    async (world) => {
      const { privateKey, publicJwk } = await clientKey('RSA-OAEP-256');
      const metadata = { introspection_encrypted_response_alg: 'RSA-OAEP-256' } as const;
      await setMetadata(world, 'api', { ...metadata, jwks: { keys: [publicJwk] } });
      const { access_token: token } = await world.grant();
      for (const accept of ['application/json', '*/*', `${MEDIA_TYPE};q=0`, 'application/json, text/plain']) {
        const response = await world.post('/token/introspect', { token }, 'api', { accept });
        assert.deepEqual(response.headers, JWT_HEADERS);
        assert.equal((await decryptedAnswer(response.body, privateKey)).header.cty, 'JWT');
      }
    },
  );

  spec('§8.2 without an encryption key of the caller there is no response, in any form', async (world) => {
    const { access_token: token } = await world.grant();
    const { publicJwk } = await clientKey('RSA-OAEP-256');
    const sets = [
      undefined,
      { keys: [] },
      { keys: [(await clientKey('ECDH-ES')).publicJwk] },
      { keys: [{ ...publicJwk, use: 'sig' }] },
      { keys: [{ ...publicJwk, alg: 'RS256' }] },
      { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB' }] },
    ];
    for (const jwks of sets) {
      await setMetadata(world, 'api', {
        introspection_encrypted_response_alg: 'RSA-OAEP-256',
        ...(jwks !== undefined && { jwks }),
      });
      for (const accept of [MEDIA_TYPE, 'application/json']) {
        assert.deepEqual(await world.post('/token/introspect', { token }, 'api', { accept }), NO_KEY);
        assert.equal(world.lastReason, 'client_key_missing');
      }
    }
  });

  spec.http('§4 errors are JSON, whatever the format of the response would have been', async (world) => {
    const refused = errorOf(401, 'invalid_client', 'client authentication failed', {
      ...JSON_HEADERS,
      'www-authenticate': CLIENT_CHALLENGE,
    });
    const headers = { accept: MEDIA_TYPE, authorization: basic('api', 'wrong') };
    assert.deepEqual(await world.post('/token/introspect', { token: 'x' }, null, headers), refused);
    assert.deepEqual(
      await world.post('/token/introspect', {}, 'api', { accept: MEDIA_TYPE }),
      errorOf(400, 'invalid_request', 'the parameter token is missing'),
    );
  });

  spec('§8.1 a response is not accepted as a token anywhere', async (world) => {
    const { access_token } = await world.grant();
    const { body: answer } = await introspectAsJwt(world, access_token, 'web');
    const { claims } = await signedAnswer(world, answer);
    assert.deepEqual(Object.keys(claims), ['iss', 'aud', 'iat', 'token_introspection']);
    assert.deepEqual(await world.introspect(answer), INACTIVE);
    assert.equal((await world.userInfo(answer)).status, 401);
    assert.deepEqual(await world.revoke(answer), REVOKED);
    const form = { token: 'x', ...asParameters(answer) };
    assert.equal((await world.post('/token/introspect', form)).status, 401);
    assert.deepEqual(await world.alive(access_token), [true]);
  });

  spec('§4 a caller that authenticates by an assertion gets a response too', async (world) => {
    const { publicJwk } = await clientKey('ES256');
    await world.storage.clients.add({
      ...CLIENTS.machine,
      id: 'signer',
      metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
    });
    const assertion = asParameters(await assertionOf(world, 'signer', 'ES256'));
    const { body } = await introspectAsJwt(world, 'x', null, assertion);
    assert.equal((await signedAnswer(world, body)).claims.aud, 'signer');
  });

  spec(
    '§5 without authentication a JWT is refused with 400, and JSON still works',
    async (world) => {
      const expected = errorOf(400, 'invalid_request', 'only an authenticated client gets a JWT');
      assert.deepEqual(await introspectAsJwt(world, 'x', null), expected);
      assert.equal(world.lastReason, 'answer_not_authenticated');
      assert.deepEqual(await introspectAsJwt(world, 'x', null, { client_id: 'spa' }), expected);
      assert.deepEqual(await world.introspect('x', null), INACTIVE);
    },
    { authenticateIntrospect: false },
  );

  spec(
    '§5 a public client is not authenticated, so it gets no JWT, by Accept or by registration',
    async (world) => {
      const expected = errorOf(400, 'invalid_request', 'only an authenticated client gets a JWT');
      const form = { token: 'x', client_id: 'spa' };
      assert.deepEqual(await introspectAsJwt(world, 'x', null, form), expected);
      assert.deepEqual(await world.post('/token/introspect', form), INACTIVE);
      await setMetadata(world, 'spa', {
        token_endpoint_auth_method: 'none',
        introspection_signed_response_alg: 'RS256',
      });
      assert.deepEqual(await world.post('/token/introspect', form), expected);
    },
    { introspectionRequiresConfidentialClient: false },
  );
});

test('§6 if the keys of the caller cannot be fetched, it is 503, and if they may not be, 400', async (t) => {
  let outcome: 'failed' | 'refused' = 'failed';
  const fetchDocument: FetchDocument = () => Promise.reject(new DocumentError(outcome, 'no'));
  const world = await openWorld(t, { fetchDocument });
  await setMetadata(world, 'api', {
    introspection_encrypted_response_alg: 'RSA-OAEP-256',
    jwks_uri: 'https://api.example/jwks',
  });
  const { status, body } = await world.introspect('x');
  assert.deepEqual([status, JSON.parse(body).error], [503, 'temporarily_unavailable']);
  assert.equal(world.lastReason, 'document_unavailable');
  outcome = 'refused';
  world.clock.advance(60);
  assert.deepEqual(await world.introspect('x'), NO_KEY);
  assert.equal(world.lastReason, 'client_keys_refused');
});

test('§6 if a host’s own service cannot sign with the algorithm, there is no response', async (t) => {
  const world = await openWorld(t, { oidc: OIDC_OFF });
  const server = new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    storage: world.storage,
    clock: world.clock.read,
    ...CANNOT_SIGN,
    onEvent: () => {},
  });
  const asked = (headers: Readonly<Record<string, string>>) =>
    server.handle({
      method: 'POST',
      url: '/token/introspect',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basic('api'),
        ...headers,
      },
      body: 'token=x',
    });
  assert.deepEqual(
    await asked({ accept: MEDIA_TYPE }),
    errorOf(400, 'invalid_request', 'the server does not sign with the algorithm of the client'),
  );
  await setMetadata(world, 'api', { introspection_signed_response_alg: 'PS256' });
  assert.deepEqual(await asked({}), errorOf(500, 'server_error', 'an unexpected error'));
});
