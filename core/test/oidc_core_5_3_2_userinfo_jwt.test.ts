// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { SIGNING_ALGORITHMS } from '@grantd/core';
import { decryptedAnswer, signedAnswer } from './harness/answer_jwts.ts';
import { clientKey } from './harness/client_keys.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { ON_MEMORY } from './harness/places.ts';
import { bearerError, INACTIVE, OPEN_JSON_HEADERS, opened } from './harness/responses.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { ISSUER, PEOPLE, specification, type World } from './harness/world.ts';

const JWT_HEADERS = { ...OPEN_JSON_HEADERS, 'content-type': 'application/jwt' };

const ALICE = {
  name: 'Alice Liddell',
  email: 'alice@example.org',
  email_verified: true,
  sub: 'alice',
};

/** UserInfo by each way of sending the token. */
async function everyWay(world: World, token: string): Promise<readonly TestResponse[]> {
  const authorization = `Bearer ${token}`;
  return [
    await world.userInfo(token),
    await world.send({ method: 'POST', path: '/userinfo', headers: { authorization } }),
    await world.post('/userinfo', { access_token: token }),
    await world.send({
      method: 'GET',
      path: '/userinfo',
      headers: { authorization, accept: 'application/json' },
    }),
  ];
}

specification('UserInfo as a JWT (OpenID Connect Core §5.3.2)', ON_MEMORY, (spec) => {
  spec('§5.3.2 without a registration the response is JSON, whatever Accept says', async (world) => {
    const { access_token } = await world.grant();
    const headers = { authorization: `Bearer ${access_token}`, accept: 'application/jwt' };
    const response = await world.send({ method: 'GET', path: '/userinfo', headers });
    assert.deepEqual(response, { status: 200, headers: OPEN_JSON_HEADERS, body: JSON.stringify(ALICE) });
  });

  spec.http('§5.3.2 a signed response is a JWT with the claims, the issuer and the client', async (world) => {
    const { access_token } = await world.grant();
    for (const algorithm of SIGNING_ALGORITHMS) {
      await setMetadata(world, 'web', { userinfo_signed_response_alg: algorithm });
      for (const { status, headers, body } of await everyWay(world, access_token)) {
        assert.deepEqual([status, headers], [200, JWT_HEADERS]);
        const { header, claims } = await signedAnswer(world, body);
        const kid = await world.storage.keys.currentKeyId(algorithm);
        assert.deepEqual(header, { alg: algorithm, typ: 'JWT', kid });
        assert.deepEqual(claims, { ...ALICE, iss: ISSUER, aud: 'web' });
      }
    }
  });

  spec('§5.3.2 a response that is only encrypted contains the claims themselves', async (world) => {
    const { access_token } = await world.grant();
    for (const algorithm of ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const) {
      const { privateKey, publicJwk } = await clientKey(algorithm);
      await setMetadata(world, 'web', {
        userinfo_encrypted_response_alg: algorithm,
        jwks: { keys: [publicJwk] },
      });
      const { status, headers, body } = await world.userInfo(access_token);
      assert.deepEqual([status, headers], [200, JWT_HEADERS]);
      const { header, content } = await decryptedAnswer(body, privateKey);
      const { epk: _, ...others } = header;
      assert.deepEqual(others, { alg: algorithm, enc: 'A128CBC-HS256', kid: publicJwk.kid });
      assert.deepEqual(JSON.parse(content), ALICE);
    }
  });

  spec('§5.3.2 a response that is signed and encrypted is a nested JWT', async (world) => {
    const { access_token } = await world.grant();
    const { privateKey, publicJwk } = await clientKey('ECDH-ES+A256KW');
    await setMetadata(world, 'web', {
      userinfo_signed_response_alg: 'PS256',
      userinfo_encrypted_response_alg: 'ECDH-ES+A256KW',
      userinfo_encrypted_response_enc: 'A256GCM',
      jwks: { keys: [publicJwk] },
    });
    for (const { status, headers, body } of await everyWay(world, access_token)) {
      assert.deepEqual([status, headers], [200, JWT_HEADERS]);
      const { header, content } = await decryptedAnswer(body, privateKey);
      assert.deepEqual([header.cty, header.enc], ['JWT', 'A256GCM']);
      const signed = await signedAnswer(world, content);
      assert.equal(signed.header.alg, 'PS256');
      assert.deepEqual(signed.claims, { ...ALICE, iss: ISSUER, aud: 'web' });
    }
  });

  spec(
    '§5.3.2 no attribute of the host changes sub, iss or aud of a signed response',
    async (world) => {
      await setMetadata(world, 'web', { userinfo_signed_response_alg: 'ES256' });
      const { access_token } = await world.grant();
      const { claims } = await signedAnswer(world, (await world.userInfo(access_token)).body);
      assert.deepEqual(claims, { name: 'Alice', sub: 'alice', iss: ISSUER, aud: 'web' });
    },
    {
      oidc: {
        getUserClaims: () => ({ name: 'Alice', sub: 'bob', iss: 'https://other.example', aud: 'other' }),
        claimsByScope: { openid: ['sub', 'iss', 'aud'], profile: ['name'] },
      },
    },
  );

  spec('§5.3.2 without an encryption key of the client there is no response', async (world) => {
    const { access_token } = await world.grant();
    await setMetadata(world, 'web', {
      userinfo_signed_response_alg: 'RS256',
      userinfo_encrypted_response_alg: 'RSA-OAEP-256',
      jwks: { keys: [(await clientKey('ES256')).publicJwk] },
    });
    const description = 'the client has no key to encrypt the response to';
    for (const response of await everyWay(world, access_token)) {
      assert.deepEqual(response, bearerError(400, 'invalid_request', description));
    }
    assert.equal(world.lastReason, 'client_key_missing');
  });

  spec.http('§5.3.3 errors stay what they are', async (world) => {
    await setMetadata(world, 'web', { userinfo_signed_response_alg: 'RS256' });
    const { access_token } = await world.grant();
    await world.revoke(access_token);
    const revoked = await world.userInfo(access_token);
    assert.deepEqual([revoked.status, revoked.headers['content-type']], [401, 'application/json']);
    const narrow = await world.grant('alice', 'web', 'profile');
    const unscoped = await world.userInfo(narrow.access_token);
    assert.deepEqual([unscoped.status, JSON.parse(unscoped.body).error], [403, 'insufficient_scope']);
  });

  spec('§5.3.2 pages of the client may read a signed response', async (world) => {
    await setMetadata(world, 'web', { userinfo_signed_response_alg: 'ES256' });
    const { access_token } = await world.grant();
    const origin = 'https://web.example';
    const headers = { authorization: `Bearer ${access_token}`, origin };
    const response = await world.send({ method: 'GET', path: '/userinfo', headers });
    const plain = { status: 200, headers: JWT_HEADERS, body: response.body };
    assert.deepEqual(response, opened(plain, origin));
  });

  spec('§5.3.2 each client has its own form, even for the same user', async (world) => {
    await setMetadata(world, 'web', { userinfo_signed_response_alg: 'ES256' });
    const signed = await world.userInfo((await world.grant()).access_token);
    const plain = await world.userInfo((await world.grant('alice', 'spa')).access_token);
    assert.equal((await signedAnswer(world, signed.body)).claims.aud, 'web');
    assert.deepEqual(JSON.parse(plain.body), { name: PEOPLE.alice?.name, sub: 'alice' });
  });

  spec('RFC 8725 §3.11 a signed response is not accepted as a token anywhere', async (world) => {
    await setMetadata(world, 'web', { userinfo_signed_response_alg: 'RS256' });
    const { access_token } = await world.grant();
    const { body } = await world.userInfo(access_token);
    assert.deepEqual(await world.introspect(body), INACTIVE);
    assert.equal((await world.userInfo(body)).status, 401);
    assert.equal('exp' in (await signedAnswer(world, body)).claims, false, 'nor for an ID token');
  });
});
