// The keys that `jwtVerifier` takes from a host.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError, jwtVerifier } from '@grantd/core';

const HS256 = { algorithm: 'HS256', secret: 'of a host, with 32 bytes or more' } as const;
const RSA_JWK = { kty: 'RSA', n: `w${'A'.repeat(340)}Q`, e: 'AQAB' };

/** Invalid keys, and the member that the error names. */
const BAD: readonly (readonly [member: string, key: unknown])[] = [
  ['algorithm', null],
  ['algorithm', { secret: 'x' }],
  ['algorithm', { ...HS256, algorithm: 'none' }],
  ['algorithm', { ...HS256, algorithm: 'HS1' }],
  ['secret', { algorithm: 'HS256' }],
  // RFC 7518 §3.2: as many bytes as the MAC has.
  ['secret', { ...HS256, secret: '' }],
  ['secret', { ...HS256, secret: 'ü'.repeat(15) }],
  ['secret', { ...HS256, secret: new Uint8Array(31) }],
  ['secret', { algorithm: 'HS384', secret: new Uint8Array(47) }],
  ['secret', { algorithm: 'HS512', secret: new Uint8Array(63) }],
  ['secret', { ...HS256, secret: RSA_JWK }],
  ['keyId', { ...HS256, keyId: 5 }],
  ['publicKey', { algorithm: 'RS256' }],
  ['publicKey', { algorithm: 'RS256', secret: 'x' }],
  ['publicKey', { algorithm: 'RS256', publicKey: 'x' }],
  ['publicKey', { algorithm: 'RS256', publicKey: { ...RSA_JWK, n: 'AQAB' } }],
  ['publicKey', { algorithm: 'RS256', publicKey: { ...RSA_JWK, d: 'AQAB' } }],
  ['publicKey', { algorithm: 'RS256', publicKey: { ...RSA_JWK, alg: 'PS256' } }],
  ['publicKey', { algorithm: 'ES256', publicKey: RSA_JWK }],
  ['publicKey', { algorithm: 'RS256', publicKey: { kty: 'oct', k: 'AQAB' } }],
];

test('jwtVerifier refuses an invalid key, and names its member', () => {
  for (const [member, key] of BAD)
    assert.throws(
      () => jwtVerifier([HS256, key] as never),
      (error) => error instanceof ConfigurationError && error.option === `jwtVerifier.1.${member}`,
      `${member} of ${JSON.stringify(key)} was accepted`,
    );
  for (const keys of [{}, HS256, [], Array(17).fill(HS256), null, 5])
    assert.throws(
      () => jwtVerifier(keys as never),
      (error) => error instanceof ConfigurationError && error.option === 'jwtVerifier',
    );
});

test('jwtVerifier takes 1 to 16 keys', () => {
  jwtVerifier(Array(16).fill(HS256));
  jwtVerifier([{ algorithm: 'HS256', secret: new Uint8Array(32), keyId: '' }]);
  jwtVerifier([{ algorithm: 'HS512', secret: 'x'.repeat(64) }]);
  jwtVerifier([{ algorithm: 'PS256', publicKey: RSA_JWK, keyId: 'k' }]);
});
