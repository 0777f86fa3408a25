import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compactVerify, exportJWK, generateKeyPair } from 'jose';
import * as node from '../src/crypto/node.ts';
import type { CryptoPort } from '../src/crypto/port.ts';
import * as web from '../src/crypto/web.ts';
import { SIGNING_ALGORITHMS } from '../src/protocol/client_metadata.ts';
import { signedJwt } from '../src/tokens/jwt.ts';

const PORTS: Readonly<Record<string, CryptoPort>> = { node, web };

suite('signatures', () => {
  for (const algorithm of SIGNING_ALGORITHMS)
    for (const [name, { signerOf }] of Object.entries(PORTS))
      test(`${algorithm} by ${name} is what jose and both ports take for a signature, and for no other text`, async () => {
        const { privateJwk, publicJwk, publicKey } = await keyPair(algorithm);
        const header = { alg: algorithm, typ: 'JWT', kid: 'schlüssel' };
        const claims = { sub: 'größer', absent: undefined };

        const token = await signedJwt(await signerOf(privateJwk, algorithm), header, claims);

        const { payload, protectedHeader } = await compactVerify(token, publicKey);
        assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)), { sub: 'größer' });
        assert.deepEqual({ ...protectedHeader }, header);
        const [signingInput = '', signature = ''] = token.split(/\.(?=[^.]*$)/);
        const bytes = new Uint8Array(Buffer.from(signature, 'base64url'));
        for (const { verifierOf } of Object.values(PORTS)) {
          const verifies = await verifierOf(publicJwk, algorithm);
          assert.equal(await verifies(signingInput, bytes), true);
          assert.equal(await verifies(`${signingInput}A`, bytes), false);
          // Replaces each character with another of the same low byte, which one port might truncate and the other
          // refuse.
          const alike = signingInput.replace('e', String.fromCharCode(0x100 + 'e'.charCodeAt(0)));
          assert.equal(await verifies(alike, bytes), false);
        }
      });

  test('RS256 gives the same signature again, on each port', async () => {
    const { privateJwk } = await keyPair('RS256');
    const made = await Promise.all(
      [node, node, web].map(async ({ signerOf }) => (await signerOf(privateJwk, 'RS256'))('a.b')),
    );
    assert.equal(new Set(made.map((bytes) => Buffer.from(bytes).toString('hex'))).size, 1);
  });
});

async function keyPair(algorithm: string) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, {
    extractable: true,
    ...(algorithm === 'EdDSA' && { crv: 'Ed25519' }),
  });
  return { publicKey, publicJwk: await exportJWK(publicKey), privateJwk: await exportJWK(privateKey) };
}
