import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';

/** 2048 bits, all of them set. */
const RSA: JWK = { kty: 'RSA', n: `${'_'.repeat(341)}w`, e: 'AQAB' };

/** Public keys that stand in for those of clients that do not exist: the generators of the curves, and a large number. */
const KEYS: Readonly<Record<SigningAlgorithm, JWK>> = {
  RS256: RSA,
  PS256: RSA,
  ES256: {
    kty: 'EC',
    crv: 'P-256',
    x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
    y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
  },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', x: 'WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY' },
};

/**
 * A key to check the signature of an assertion with where there is no other, so that a client that does not exist costs
 * what a wrong signature costs. Anybody can sign with it: what comes of the check may not be looked at.
 */
export async function standInKey(algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(KEYS[algorithm], algorithm);
  if (key instanceof Uint8Array) throw new TypeError('a stand-in key is symmetric');
  return key;
}
