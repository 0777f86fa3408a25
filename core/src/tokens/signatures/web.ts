import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { SigningAlgorithm } from '../../protocol/client_metadata.ts';
import type { Signatures } from './signatures.ts';

/** RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. */
const SCHEMES: Readonly<Record<SigningAlgorithm, AlgorithmIdentifier | RsaPssParams | EcdsaParams>> = {
  RS256: 'RSASSA-PKCS1-v1_5',
  PS256: { name: 'RSA-PSS', saltLength: 32 },
  ES256: { name: 'ECDSA', hash: 'SHA-256' },
  EdDSA: 'Ed25519',
};

export const verifierOf: Signatures['verifierOf'] = async (publicJwk, algorithm) => {
  const key = await imported(publicJwk, algorithm);
  return (signingInput, signature) =>
    crypto.subtle.verify(
      SCHEMES[algorithm],
      key,
      new Uint8Array(signature),
      new TextEncoder().encode(signingInput),
    );
};

export const signerOf: Signatures['signerOf'] = async (privateJwk, algorithm) => {
  const key = await imported(privateJwk, algorithm);
  return async (signingInput) =>
    new Uint8Array(await crypto.subtle.sign(SCHEMES[algorithm], key, new TextEncoder().encode(signingInput)));
};

async function imported(jwk: JWK, algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new TypeError('a symmetric key cannot sign');
  return key;
}
