// The cryptography that each runtime provides. `#crypto` selects node.ts or web.ts.
import type { JWK } from 'jose';
import type { Bytes } from '../platform/environment.ts';
import type { ClientAlgorithm, SigningAlgorithm } from '../protocol/client_metadata.ts';

/** Functions that each runtime provides. Some return promises, so callers must await the results. */
export interface CryptoPort {
  /** SHA-256 of bytes, or of a text's UTF-8 bytes; base64url without padding. */
  sha256(data: string | Uint8Array): string | Promise<string>;
  /** Decodes base64url without padding (RFC 7515 §2). Returns `undefined` if the text is not base64url. */
  fromBase64url(text: string): Uint8Array | undefined;
  /** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  hmacSha256(key: Bytes, text: string): string | Promise<string>;
  /** Derives a key of 32 bytes from a secret by HKDF-SHA-256 (RFC 5869 §2), without salt. */
  derivedKey(secret: string, use: string): Bytes | Promise<Bytes>;
  /** Returns a function that checks signatures with this key and only this algorithm. */
  verifierOf(publicJwk: JWK, algorithm: ClientAlgorithm | SigningAlgorithm): Verifies | Promise<Verifies>;
  /** Returns a function that signs with this key and only this algorithm. */
  signerOf(privateJwk: JWK, algorithm: SigningAlgorithm): Signs | Promise<Signs>;
}

/**
 * Checks a signature over a JWS signing input (RFC 7515 §5.2), which is ASCII.
 * @param signature as in a JWS: for ECDSA, both halves one after the other (RFC 7518 §3.4)
 */
export type Verifies = (signingInput: string, signature: Uint8Array) => boolean | Promise<boolean>;

/** Signs a JWS signing input. Returns the signature in the form that `Verifies` takes. */
export type Signs = (signingInput: string) => Uint8Array | Promise<Uint8Array>;
