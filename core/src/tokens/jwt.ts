// Reads, verifies and signs JWTs. § refers to RFC 7515.
import type { CryptoKey } from 'jose';
import * as base64url from 'jose/base64url';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import * as errors from 'jose/errors';
import { compactVerify } from 'jose/jws/compact/verify';
import { fromBase64url } from '#crypto';
import type { Signs, Verifies } from '../crypto/port.ts';
import { isJsonObject, parseJson } from '../http/http.ts';
import type { Claims } from '../protocol/claims.ts';
import { type AssertionAlgorithm, ID_JAG_TYPE, namesOf } from '../protocol/client_metadata.ts';

/** The header of a JWT before verification (RFC 7515 §4.1). */
interface JwtHeader {
  readonly algorithm: string | undefined;
  readonly keyId: string | undefined;
  /** Normalized by `comparableType`. */
  readonly type: string | undefined;
  /** Whether the header has critical extensions (`crit`, §4.1.11). */
  readonly isExtended: boolean;
  /** The key in the header (`jwk`, §4.1.3), unchecked. Anyone can write one, so only DPoP proofs are verified with it. */
  readonly key: unknown;
}

/** @returns `undefined` if the text is not a JWT, or its header is malformed (RFC 7515 §4.1) */
export function readJwtHeader(token: string): JwtHeader | undefined {
  try {
    const { alg, kid, typ, crit, jwk } = decodeProtectedHeader(token);
    if ([alg, kid, typ].some((value: unknown) => value !== undefined && typeof value !== 'string'))
      return undefined;
    return {
      algorithm: alg,
      keyId: kid,
      type: comparableType(typ),
      isExtended: crit !== undefined,
      key: jwk,
    };
  } catch {
    return undefined; // jose throws a TypeError for everything that it cannot parse
  }
}

/** RFC 7515 §7.1. Payload and signature can be empty (RFC 7515 Appendix F, RFC 7518 §3.6). */
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/;

/** Whether a text is a JWT by its form: a compact JWS whose header decodes. */
export function isCompactJws(token: string): boolean {
  if (!COMPACT_JWS.test(token)) return false;
  const header = fromBase64url(token.slice(0, token.indexOf('.')));
  return header !== undefined && isJsonObject(parseJson(header));
}

/** jose's errors that are caused by the token. */
const REFUSALS = [
  errors.JWSSignatureVerificationFailed,
  errors.JWSInvalid,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
];

/** HMAC only verifies tokens of a previous server, and client assertions. The server signs nothing with it. */
export type VerifyingAlgorithm = AssertionAlgorithm;

/**
 * Verifies a JWT and returns its payload. The caller selects the algorithm, not the token. Keys in the header (`jwk`,
 * `jku`, `x5u`) are ignored.
 * @param key bytes only for HMAC
 * @returns `undefined` if the signature does not verify
 */
export async function verifiedPayload(
  token: string,
  key: CryptoKey | Uint8Array,
  algorithm: VerifyingAlgorithm,
): Promise<Uint8Array | undefined> {
  try {
    return (await compactVerify(token, key, { algorithms: [...namesOf(algorithm)] })).payload;
  } catch (error) {
    if (REFUSALS.some((refusal) => error instanceof refusal)) return undefined;
    throw error; // for example, the server's own key does not fit the algorithm
  }
}

/** Returns `undefined` if the payload is not a JSON object. */
export function parseClaims(payload: Uint8Array): Claims | undefined {
  const claims = parseJson(payload);
  return isJsonObject(claims) ? claims : undefined;
}

/**
 * Checks the signature of a compact JWS (RFC 7515 §5.2). Only the canonical base64url spelling is accepted, because
 * other spellings of the same bytes would turn one token into several.
 */
export async function isSignedWith(verifies: Verifies, token: string): Promise<boolean> {
  const [header, payload, signature, ...others] = token.split('.');
  if (payload === undefined || signature === undefined || others.length > 0) return false;
  const bytes = fromBase64url(signature);
  if (bytes === undefined || base64url.encode(bytes) !== signature) return false;
  return verifies(`${header}.${payload}`, bytes);
}

/** Makes a compact JWT (RFC 7515 §7.1). The same values in the same order give the same signing input. */
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

/** Reads the claims of a JWT that has been verified. Returns `undefined` if the payload is not a JSON object. */
export function claimsOfJwt(token: string): Claims | undefined {
  const begin = token.indexOf('.') + 1;
  const payload = fromBase64url(token.slice(begin, token.indexOf('.', begin)));
  return payload && parseClaims(payload);
}

/**
 * `typ` headers, which keep the kinds of tokens apart. They follow RFC 9068 §2.1 for access tokens, Back-Channel Logout
 * §2.4 for logout tokens, and common use for ID tokens. The one for refresh tokens is our own.
 */
export const JWT_TYPES = {
  access_token: 'at+jwt',
  refresh_token: 'rt+jwt',
  id_token: 'JWT',
  logout_token: 'logout+jwt',
  identity_assertion: ID_JAG_TYPE,
} as const;

/** For APIs that reject `at+jwt`. ID tokens have the same type, but no `jti`. */
export const PLAIN_JWT_TYPE = JWT_TYPES.id_token;

export type JwtType = keyof typeof JWT_TYPES;

/** Normalizes a `typ` header: it is case-insensitive, and `application/` may be omitted (RFC 7515 §4.1.9). */
function comparableType(typ: string | undefined): string | undefined {
  return typ?.toLowerCase().replace(/^application\//, '');
}

/** Returns which of this server's JWTs has this `typ`. */
export function jwtTypeOf(typ: string | undefined): JwtType | undefined {
  const type = comparableType(typ);
  return JWT_TYPE_NAMES.find((name) => JWT_TYPES[name].toLowerCase() === type);
}

/** Types of JWTs that servers sign for other purposes, or that clients sign. They are never looked up. */
const FOREIGN_TYPES: readonly string[] = [
  'logout+jwt',
  'secevent+jwt',
  'oauth-authz-req+jwt',
  'client-authentication+jwt',
  'token-introspection+jwt',
  ID_JAG_TYPE,
  'statuslist+jwt',
  'dpop+jwt',
  'entity-statement+jwt',
];

/** Claims of ID tokens alone (OpenID Connect Core §2), whose `typ` is often `JWT` too. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash'] as const;

/** Whether a JWT is no access or refresh token by its `typ`, or an ID token by its claims. */
export function isForeignJwt(typ: string | undefined, claims: Claims): boolean {
  const type = comparableType(typ);
  if (type === undefined || type === 'jwt') return ID_TOKEN_CLAIMS.some((name) => claims[name] !== undefined);
  return FOREIGN_TYPES.includes(type);
}

const JWT_TYPE_NAMES = Object.keys(JWT_TYPES) as JwtType[];
