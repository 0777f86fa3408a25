import type { JWK } from 'jose';
import type { SigningAlgorithm } from '../protocol/client_metadata.ts';

/** What each runtime brings. Some answer at once, others later, so callers await. */
export interface CryptoPort {
  /** SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  sha256(text: string): string | Promise<string>;
  /** HMAC-SHA-256 of a text's UTF-8 bytes, base64url without padding. */
  hmacSha256(key: Uint8Array<ArrayBuffer>, text: string): string | Promise<string>;
  /** A check with this public key, by this algorithm and no other. */
  verifierOf(publicJwk: JWK, algorithm: SigningAlgorithm): Verifies | Promise<Verifies>;
  /** Signs with this private key, by this algorithm and no other. */
  signerOf(privateJwk: JWK, algorithm: SigningAlgorithm): Signs | Promise<Signs>;
}

/**
 * Whether a signature is the key's over a JWS signing input (RFC 7515 §5.2), which is ASCII.
 * @param signature as it is in a JWS: the two halves of ECDSA one after the other (RFC 7518 §3.4)
 */
export type Verifies = (signingInput: string, signature: Uint8Array) => boolean | Promise<boolean>;

/** The key's signature over a JWS signing input, as `Verifies` takes it. */
export type Signs = (signingInput: string) => Uint8Array | Promise<Uint8Array>;
