// § refers to RFC 7515.
import { base64url, type CryptoKey, compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { Signs, Verifies } from '../crypto/port.ts';
import { isJsonObject, parseJson } from '../http/http.ts';
import type { Claims } from '../protocol/claims.ts';
import { namesOf, type SigningAlgorithm } from '../protocol/client_metadata.ts';

/** What a JWT says of itself before anything is believed (RFC 7515 §4.1). */
interface JwtHeader {
  readonly algorithm: string | undefined;
  readonly keyId: string | undefined;
  /** As types are compared: `comparableType`. */
  readonly type: string | undefined;
  /** Whether it says something that must be understood (`crit`, §4.1.11). */
  readonly isExtended: boolean;
}

/** @returns `undefined` where the text is no JWT, or its header is not as RFC 7515 §4.1 wants it */
export function readJwtHeader(token: string): JwtHeader | undefined {
  try {
    const { alg, kid, typ, crit } = decodeProtectedHeader(token);
    if ([alg, kid, typ].some((value: unknown) => value !== undefined && typeof value !== 'string'))
      return undefined;
    return { algorithm: alg, keyId: kid, type: comparableType(typ), isExtended: crit !== undefined };
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

/** HMAC (RFC 7518 §3.2) is for what a former server signed: nothing new is under a secret that is shared. */
export type VerifyingAlgorithm = SigningAlgorithm | 'HS256';

/**
 * What was signed. The algorithm is the caller's choice, never the token's; keys that a header names or carries
 * (`jwk`, `jku`, `x5u`) are not looked at.
 * @param key bytes for HS256 alone
 * @returns `undefined` where the signature does not verify
 */
export async function verifiedPayload(
  token: string,
  key: CryptoKey | Uint8Array,
  algorithm: VerifyingAlgorithm,
): Promise<Uint8Array | undefined> {
  const algorithms = algorithm === 'HS256' ? [algorithm] : [...namesOf(algorithm)];
  try {
    return (await compactVerify(token, key, { algorithms })).payload;
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

/**
 * Whether the last part of a JWS in the compact form is a signature over the others (RFC 7515 §5.2). Of the spellings
 * that decode to the same bytes only one is: padding, white space and unused bits would make other tokens of one.
 */
export async function isSignedWith(verifies: Verifies, token: string): Promise<boolean> {
  const [header, payload, signature, ...others] = token.split('.');
  if (payload === undefined || signature === undefined || others.length > 0) return false;
  const bytes = decodeBase64url(signature);
  if (bytes === undefined || base64url.encode(bytes) !== signature) return false;
  return verifies(`${header}.${payload}`, bytes);
}

/** A JWT in the compact form (RFC 7515 §7.1). The same values in the same order give the same signing input. */
export async function signedJwt(
  signs: Signs,
  header: Readonly<Record<string, string>>,
  claims: Claims,
): Promise<string> {
  const signingInput = `${encodeJson(header)}.${encodeJson(claims)}`;
  return `${signingInput}.${base64url.encode(await signs(signingInput))}`;
}

function encodeJson(value: Claims): string {
  return base64url.encode(JSON.stringify(value));
}

/** The claims of a JWT whose signature has verified; `undefined` where its payload is no JSON object. */
export function claimsOfJwt(token: string): Claims | undefined {
  const begin = token.indexOf('.') + 1;
  const payload = decodeBase64url(token.slice(begin, token.indexOf('.', begin)));
  return payload && parseClaims(payload);
}

function decodeBase64url(text: string): Uint8Array | undefined {
  try {
    return base64url.decode(text);
  } catch {
    return undefined; // no base64url
  }
}

/**
 * `typ` headers, by which no token is taken for one of another kind: RFC 9068 §2.1 for access tokens, Back-Channel
 * Logout §2.4 for logout tokens, our own for refresh tokens, and what clients are used to for ID tokens.
 */
export const JWT_TYPES = {
  access_token: 'at+jwt',
  refresh_token: 'rt+jwt',
  id_token: 'JWT',
  logout_token: 'logout+jwt',
} as const;

/** Of access tokens for APIs that refuse `at+jwt`. An ID token has the same, and no `jti`. */
export const PLAIN_JWT_TYPE = JWT_TYPES.id_token;

export type JwtType = keyof typeof JWT_TYPES;

/**
 * A `typ` header as types are compared: without regard to case, and without the `application/` that may be left out
 * (RFC 7515 §4.1.9).
 */
function comparableType(typ: string | undefined): string | undefined {
  return typ?.toLowerCase().replace(/^application\//, '');
}

/** Which of this server's JWTs has that `typ`; `undefined` for any other. */
export function jwtTypeOf(typ: string | undefined): JwtType | undefined {
  const type = comparableType(typ);
  return JWT_TYPE_NAMES.find((name) => JWT_TYPES[name].toLowerCase() === type);
}

const JWT_TYPE_NAMES = Object.keys(JWT_TYPES) as JwtType[];
