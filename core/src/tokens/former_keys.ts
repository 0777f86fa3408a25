import type { CryptoKey, JWK } from 'jose';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import { fitsAlgorithm, importPublicKey, readPublicKeys } from './public_keys.ts';
import { type VerifyingAlgorithm, verifiedPayload } from './signature.ts';

/** A key that a former server signed with, for the one algorithm that it was used with. It signs nothing any more. */
export type FormerKey = {
  /** `kid` of the tokens that it signed. Default: they name none. */
  readonly keyId?: string;
} & (
  | {
      readonly algorithm: 'HS256';
      /** A text stands for its UTF-8 bytes. */
      readonly secret: string | Uint8Array;
    }
  | {
      readonly algorithm: SigningAlgorithm;
      /** The public part; RSA keys of 2048 to 8192 bits. */
      readonly publicKey: JWK;
    }
);

/** What a key is good for: to find out whether it has signed something. */
export interface FormerVerifier {
  readonly keyId: string | undefined;
  /** @returns what was signed; `undefined` where the signature is not the key's by its one algorithm */
  payloadOf(token: string): Promise<Uint8Array | undefined>;
}

/** A token without a `kid` is tried with each key that has none. */
const MOST_KEYS = 16;

const EXPECTED_ALGORITHM = `one of HS256, ${SIGNING_ALGORITHMS.join(', ')}`;

/**
 * @param option its name, for errors
 * @throws {ConfigurationError} names the member and what was expected; never a key
 */
export function formerVerifiers(keys: unknown, option: string): readonly FormerVerifier[] {
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MOST_KEYS)
    throw new ConfigurationError(option, `a list of 1 to ${MOST_KEYS} keys`);
  return keys.map((key: unknown, index) => formerVerifier(key, `${option}.${index}`));
}

function formerVerifier(key: unknown, option: string): FormerVerifier {
  const members: JsonObject = isJsonObject(key) ? key : {};
  const { keyId, algorithm, secret, publicKey } = members;
  if (keyId !== undefined && typeof keyId !== 'string')
    throw new ConfigurationError(`${option}.keyId`, 'a text');
  if (algorithm === 'HS256') {
    const bytes = secretBytes(secret, `${option}.secret`);
    return verifier(keyId, algorithm, async () => bytes);
  }
  const signing = SIGNING_ALGORITHMS.find((one) => one === algorithm);
  if (signing === undefined) throw new ConfigurationError(`${option}.algorithm`, EXPECTED_ALGORITHM);
  const [jwk] = readPublicKeys({ keys: [publicKey] }, 1) ?? [];
  const expected = `a JWK with the public part of a key for ${signing}`;
  const wrongKey = new ConfigurationError(`${option}.publicKey`, expected);
  if (jwk === undefined || !fitsAlgorithm(jwk, signing)) throw wrongKey;
  return verifier(keyId, signing, async () => {
    const imported = await importPublicKey(jwk, signing);
    if (imported === undefined) throw wrongKey;
    return imported;
  });
}

function secretBytes(secret: unknown, option: string): Uint8Array {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  if (bytes instanceof Uint8Array && bytes.length > 0) return bytes.slice();
  throw new ConfigurationError(option, 'a text or bytes, not empty');
}

function verifier(
  keyId: string | undefined,
  algorithm: VerifyingAlgorithm,
  open: () => Promise<CryptoKey | Uint8Array>,
): FormerVerifier {
  let key: Promise<CryptoKey | Uint8Array> | undefined;
  return {
    keyId,
    async payloadOf(token) {
      key ??= open();
      return verifiedPayload(token, await key, algorithm);
    },
  };
}
