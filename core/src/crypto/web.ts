// Cryptography of Web Crypto, for runtimes other than Node.
import type { CryptoKey, JWK } from 'jose';
import * as joseBase64url from 'jose/base64url';
import { importJWK } from 'jose/key/import';
import type { CryptoPort } from './port.ts';

type Algorithm = Parameters<CryptoPort['verifierOf']>[1];

export const sha256: CryptoPort['sha256'] = async (data) =>
  base64url(
    await crypto.subtle.digest(
      'SHA-256',
      typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data),
    ),
  );

export const fromBase64url: CryptoPort['fromBase64url'] = (text) => {
  // jose also accepts padding, and on some runtimes plain base64.
  if (!/^[\w-]*$/.test(text)) return undefined;
  try {
    return joseBase64url.decode(text);
  } catch {
    return undefined; // a length that no bytes have
  }
};

export const hmacSha256: CryptoPort['hmacSha256'] = async (key, text) => {
  const hmacKey = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return base64url(await crypto.subtle.sign('HMAC', hmacKey, new TextEncoder().encode(text)));
};

export const derivedKey: CryptoPort['derivedKey'] = async (secret, use) => {
  const text = new TextEncoder();
  const material = await crypto.subtle.importKey('raw', text.encode(secret), 'HKDF', false, ['deriveBits']);
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text.encode(use) };
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, material, 256));
};

function base64url(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. */
function schemeOf({ algorithm: { name } }: CryptoKey, algorithm: Algorithm) {
  const bits = algorithm.slice(2);
  return { name, hash: `SHA-${bits}`, saltLength: Number(bits) / 8 }; // each name takes what it needs
}

export const verifierOf: CryptoPort['verifierOf'] = async (publicJwk, algorithm) => {
  const key = await importKey(publicJwk, algorithm);
  const scheme = schemeOf(key, algorithm);
  const { modulusLength = 0 } = key.algorithm as { modulusLength?: number };
  // Some accept RSA signatures without their leading zeros (RFC 8017 §8.1.2).
  return (signingInput, signature) =>
    signature.length * 8 >= modulusLength &&
    crypto.subtle.verify(scheme, key, new Uint8Array(signature), new TextEncoder().encode(signingInput));
};

export const signerOf: CryptoPort['signerOf'] = async (privateJwk, algorithm) => {
  const key = await importKey(privateJwk, algorithm);
  const scheme = schemeOf(key, algorithm);
  return async (signingInput) =>
    new Uint8Array(await crypto.subtle.sign(scheme, key, new TextEncoder().encode(signingInput)));
};

async function importKey(jwk: JWK, algorithm: Algorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new TypeError('a symmetric key cannot sign');
  return key;
}
