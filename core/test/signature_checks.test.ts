import assert from 'node:assert/strict';
import { constants, KeyObject, type SignKeyObjectInput, sign } from 'node:crypto';
import { test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import * as node from '../src/crypto/node.ts';
import * as web from '../src/crypto/web.ts';
import {
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  type SigningAlgorithm,
} from '../src/protocol/client_metadata.ts';

const INPUT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9';
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING };

type Signing = readonly [digest: string | null, how: Omit<SignKeyObjectInput, 'key'>];

/** The right parameters of each algorithm by RFC 7518 §3 and RFC 8037 §3.1, and wrong ones. */
const SIGNING: Readonly<
  Record<
    ClientAlgorithm | SigningAlgorithm,
    { readonly right: Signing; readonly wrong: Readonly<Record<string, Signing>> }
  >
> = {
  RS256: {
    right: ['sha256', {}],
    wrong: {
      'over SHA-512': ['sha512', {}],
      'over SHA-1': ['sha1', {}],
      'padded as PS256': ['sha256', { ...PSS, saltLength: 32 }],
    },
  },
  PS256: {
    right: ['sha256', { ...PSS, saltLength: 32 }],
    wrong: {
      'with a short salt': ['sha256', { ...PSS, saltLength: 20 }],
      'with the longest salt': ['sha256', { ...PSS, saltLength: constants.RSA_PSS_SALTLEN_MAX_SIGN }],
      'without a salt': ['sha256', { ...PSS, saltLength: 0 }],
      'padded as RS256': ['sha256', {}],
    },
  },
  ES256: {
    right: ['sha256', { dsaEncoding: 'ieee-p1363' }],
    wrong: {
      'encoded as DER': ['sha256', { dsaEncoding: 'der' }],
      'over SHA-384': ['sha384', { dsaEncoding: 'ieee-p1363' }],
    },
  },
  RS384: { right: ['sha384', {}], wrong: { 'over SHA-256': ['sha256', {}], 'over SHA-512': ['sha512', {}] } },
  RS512: { right: ['sha512', {}], wrong: { 'over SHA-256': ['sha256', {}], 'over SHA-384': ['sha384', {}] } },
  PS384: {
    right: ['sha384', { ...PSS, saltLength: 48 }],
    wrong: {
      'over SHA-256': ['sha256', { ...PSS, saltLength: 32 }],
      'with a short salt': ['sha384', { ...PSS, saltLength: 32 }],
      'padded as RS384': ['sha384', {}],
    },
  },
  PS512: {
    right: ['sha512', { ...PSS, saltLength: 64 }],
    wrong: {
      'over SHA-256': ['sha256', { ...PSS, saltLength: 32 }],
      'with a short salt': ['sha512', { ...PSS, saltLength: 32 }],
      'padded as RS512': ['sha512', {}],
    },
  },
  ES384: {
    right: ['sha384', { dsaEncoding: 'ieee-p1363' }],
    wrong: {
      'encoded as DER': ['sha384', { dsaEncoding: 'der' }],
      'over SHA-256': ['sha256', { dsaEncoding: 'ieee-p1363' }],
    },
  },
  ES512: {
    right: ['sha512', { dsaEncoding: 'ieee-p1363' }],
    wrong: {
      'encoded as DER': ['sha512', { dsaEncoding: 'der' }],
      'over SHA-256': ['sha256', { dsaEncoding: 'ieee-p1363' }],
    },
  },
  EdDSA: { right: [null, {}], wrong: {} },
  Ed25519: { right: [null, {}], wrong: {} },
};

/** Changes to a signature by an attacker or by accident. */
function spoiled(signature: Uint8Array): Readonly<Record<string, Uint8Array>> {
  const flipped = (at: number) => signature.map((byte, index) => (index === at ? byte ^ 1 : byte));
  return {
    'with its first bit changed': flipped(0),
    'with its last bit changed': flipped(signature.length - 1),
    'with a bit in the middle changed': flipped(signature.length / 2),
    'without its last byte': signature.slice(0, -1),
    'without its first byte': signature.slice(1),
    'cut in half': signature.slice(0, signature.length / 2),
    'with a byte more': Uint8Array.of(...signature, 0),
    'with a zero before it': Uint8Array.of(0, ...signature),
    twice: Uint8Array.of(...signature, ...signature),
    'of zeros': new Uint8Array(signature.length),
    'of ones': new Uint8Array(signature.length).fill(255),
    'of no byte': new Uint8Array(),
  };
}

for (const algorithm of ['RS256', 'PS256'] as const)
  test(`RFC 8017 §8.1.2 ${algorithm}: a signature that begins with a zero is not accepted without it`, async () => {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
    const [digest, how] = SIGNING[algorithm].right;
    const jwk = await exportJWK(publicKey);
    const ports = [await node.verifierOf(jwk, algorithm), await web.verifierOf(jwk, algorithm)];
    // One in 256 begins so.
    for (let count = 0; ; count += 1) {
      const text = `${INPUT}${count}`;
      const key = { key: KeyObject.from(privateKey), ...how };
      const signature = new Uint8Array(sign(digest, Buffer.from(text), key));
      if (signature[0] !== 0) continue;
      const verdicts = (bytes: Uint8Array) =>
        Promise.all(ports.map(async (verifies) => verifies(text, bytes)));
      assert.deepEqual(await verdicts(signature), [true, true]);
      assert.deepEqual(await verdicts(signature.slice(1)), [false, false]);
      return;
    }
  });

for (const algorithm of [...CLIENT_ALGORITHMS, 'Ed25519'] as const) {
  test(`RFC 7515 §5.2 ${algorithm}: both ports accept what the key has signed, and nothing else`, async () => {
    const pair = () =>
      generateKeyPair(algorithm, { extractable: true, ...(algorithm === 'EdDSA' && { crv: 'Ed25519' }) });
    const [{ publicKey, privateKey }, other] = await Promise.all([pair(), pair()]);
    const signed = (text: string, [digest, how]: Signing, key = privateKey) =>
      new Uint8Array(sign(digest, Buffer.from(text), { key: KeyObject.from(key), ...how }));
    const jwk = await exportJWK(publicKey);
    const ports = [await node.verifierOf(jwk, algorithm), await web.verifierOf(jwk, algorithm)];
    const verdicts = (text: string, signature: Uint8Array) =>
      Promise.all(ports.map(async (verifies) => verifies(text, signature)));

    const { right, wrong } = SIGNING[algorithm];
    const signature = signed(INPUT, right);
    assert.deepEqual(await verdicts(INPUT, signature), [true, true]);
    assert.deepEqual(await verdicts(INPUT, signed(INPUT, right)), [true, true], 'a second one');
    assert.deepEqual(await verdicts('', signed('', right)), [true, true], 'of an empty text');

    assert.deepEqual(await verdicts(`${INPUT}A`, signature), [false, false], 'of another text');
    assert.deepEqual(await verdicts(INPUT, signed(INPUT, right, other.privateKey)), [false, false]);
    for (const [how, bad] of Object.entries(spoiled(signature)))
      assert.deepEqual(await verdicts(INPUT, bad), [false, false], how);
    for (const [how, signing] of Object.entries(wrong))
      assert.deepEqual(await verdicts(INPUT, signed(INPUT, signing)), [false, false], how);
  });
}
