import { type CryptoKey, compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { Claims } from '../protocol/claims.ts';
import { isJsonObject, parseJson } from '../protocol/json.ts';
import { namesOf, type SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import { comparableType } from './jwt_types.ts';

/** What a JWT says of itself before anything is believed (RFC 7515 §4.1). */
export interface JwtHeader {
  readonly algorithm: string | undefined;
  readonly keyId: string | undefined;
  /** As types are compared: `comparableType`. */
  readonly type: string | undefined;
}

/** @returns `undefined` where the text is no JWT, or its header is not as RFC 7515 §4.1 wants it */
export function readJwtHeader(token: string): JwtHeader | undefined {
  try {
    const { alg, kid, typ } = decodeProtectedHeader(token);
    if ([alg, kid, typ].some((value: unknown) => value !== undefined && typeof value !== 'string'))
      return undefined;
    return { algorithm: alg, keyId: kid, type: comparableType(typ) };
  } catch {
    return undefined; // jose throws TypeError for whatever it cannot parse; nothing here asks storage
  }
}

/** What jose throws because of the token alone. */
const REFUSALS = [
  errors.JWSSignatureVerificationFailed,
  errors.JWSInvalid,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
];

/**
 * What was signed. The algorithm is the caller's choice, never the token's; keys that a header names or carries
 * (`jwk`, `jku`, `x5u`) are not looked at.
 * @returns `undefined` where the signature does not verify
 */
export async function verifiedPayload(
  token: string,
  key: CryptoKey,
  algorithm: SigningAlgorithm,
): Promise<Uint8Array | undefined> {
  try {
    return (await compactVerify(token, key, { algorithms: [...namesOf(algorithm)] })).payload;
  } catch (error) {
    if (REFUSALS.some((refusal) => error instanceof refusal)) return undefined;
    throw error; // our own key does not fit, for example: nothing that says something about the token
  }
}

/** The claims in a payload; `undefined` where it is no JSON object. */
export function parseClaims(payload: Uint8Array): Claims | undefined {
  const claims = parseJson(payload);
  return isJsonObject(claims) ? claims : undefined;
}
