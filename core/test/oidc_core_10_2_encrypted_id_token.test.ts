// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentError, type FetchDocument } from '@grantd/core';
import { decryptedAnswer } from './harness/answer_jwts.ts';
import { accepted, redirected, refusalOf } from './harness/authorization_endpoint.ts';
import { changeClient } from './harness/client_change.ts';
import { clientKey } from './harness/client_keys.ts';
import { ON_MEMORY } from './harness/places.ts';
import { currentKeyId, DEAD_CODE, DEAD_REFRESH_TOKEN, refused, verified } from './harness/token_endpoint.ts';
import { ISSUER, openWorld, specification } from './harness/world.ts';

const NO_KEY = refused('invalid_request', 'the client has no key to encrypt the response to');

specification('Encrypted ID tokens (OpenID Connect Core §10.2)', ON_MEMORY, (spec) => {
  spec(
    '§2, §10.2 an ID token is signed, then encrypted, at each grant; only the client can read it',
    async (world) => {
      for (const algorithm of ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const) {
        const { privateKey, publicJwk } = await clientKey(algorithm);
        const metadata = {
          id_token_encrypted_response_alg: algorithm,
          jwks: { keys: [{ ...(await clientKey('ES256')).publicJwk, use: 'sig' }, publicJwk] },
        } as const;
        await changeClient(world, 'web', { metadata, idTokenAlgorithm: 'PS256' });
        const granted = await world.grant();
        const refreshed = await world.rotated(granted.refresh_token);
        for (const { id_token } of [granted, refreshed]) {
          const { header, content } = await decryptedAnswer(id_token, privateKey);
          const { epk: _, ...others } = header;
          assert.deepEqual(others, { alg: algorithm, enc: 'A128CBC-HS256', kid: publicJwk.kid, cty: 'JWT' });
          const { header: inner, payload } = await verified(world, content);
          assert.deepEqual(inner, { alg: 'PS256', typ: 'JWT', kid: await currentKeyId(world, 'PS256') });
          assert.deepEqual([payload.iss, payload.sub, payload.aud], [ISSUER, 'alice', 'web']);
        }
      }
    },
  );

  spec('§10.2 content is encrypted as it is registered', async (world) => {
    const { privateKey, publicJwk } = await clientKey('ECDH-ES');
    for (const encryption of ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const) {
      const metadata = {
        id_token_encrypted_response_alg: 'ECDH-ES',
        id_token_encrypted_response_enc: encryption,
        jwks: { keys: [publicJwk] },
      } as const;
      await changeClient(world, 'web', { metadata });
      const { header } = await decryptedAnswer((await world.grant()).id_token, privateKey);
      assert.equal(header.enc, encryption);
    }
  });

  spec('§3.1.2.1 the token is a hint once the client has decrypted it', async (world) => {
    const { privateKey, publicJwk } = await clientKey('ECDH-ES');
    const metadata = { id_token_encrypted_response_alg: 'ECDH-ES', jwks: { keys: [publicJwk] } } as const;
    await changeClient(world, 'web', { metadata });
    const { id_token } = await world.grant();
    const { content } = await decryptedAnswer(id_token, privateKey);
    assert.equal((await accepted(world, { id_token_hint: content })).expectedSubject, 'alice');
    assert.deepEqual(
      await refusalOf(world, { id_token_hint: id_token }),
      redirected('invalid_request', 'the id_token_hint is not valid'),
    );
  });

  spec(
    '§10.2 without a key of the client nothing is issued, and neither code nor refresh token is used up',
    async (world) => {
      const { privateKey, publicJwk } = await clientKey('RSA-OAEP-256');
      const { refresh_token } = await world.grant();
      const code = await world.code();
      const without = {
        id_token_encrypted_response_alg: 'RSA-OAEP-256',
        jwks: { keys: [{ ...publicJwk, use: 'sig' }] },
      } as const;
      await changeClient(world, 'web', { metadata: without });
      assert.deepEqual(await world.redeem(code), NO_KEY);
      assert.equal(world.lastReason, 'client_key_missing');
      assert.deepEqual(await world.refresh(refresh_token), NO_KEY);
      await changeClient(world, 'web', { metadata: { ...without, jwks: { keys: [publicJwk] } } });
      for (const response of [await world.redeem(code), await world.refresh(refresh_token)]) {
        assert.equal(response.status, 200);
        const { header } = await decryptedAnswer(JSON.parse(response.body).id_token, privateKey);
        assert.equal(header.cty, 'JWT');
      }
      world.clock.advance(60);
      assert.deepEqual(await world.redeem(code), DEAD_CODE);
      assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    },
  );
});

test('§10.2 while the keys of the client cannot be fetched, it is 503, and the code can be redeemed later', async (t) => {
  let isDown = true;
  const { privateKey, publicJwk } = await clientKey('ECDH-ES');
  const fetchDocument: FetchDocument = async () => {
    if (isDown) throw new DocumentError('failed', 'no');
    return {
      status: 200,
      contentType: 'application/jwk-set+json',
      body: JSON.stringify({ keys: [publicJwk] }),
    };
  };
  const world = await openWorld(t, { fetchDocument });
  await changeClient(world, 'web', {
    metadata: { id_token_encrypted_response_alg: 'ECDH-ES', jwks_uri: 'https://web.example/jwks' },
  });
  const code = await world.code();
  const { status, headers } = await world.redeem(code);
  assert.deepEqual([status, headers['retry-after'] !== undefined], [503, true]);
  assert.equal(world.lastReason, 'document_unavailable');
  isDown = false;
  world.clock.advance(50);
  const { body } = await world.redeem(code);
  assert.equal((await decryptedAnswer(JSON.parse(body).id_token, privateKey)).header.cty, 'JWT');
});
