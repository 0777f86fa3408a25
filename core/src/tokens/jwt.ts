import { base64url, type CryptoKey, compactVerify, decodeProtectedHeader, errors, type JWK } from 'jose';
import { sha256 } from '#hashing';
import { RecentlyUsed, TextTable } from '../cache.ts';
import type { InactiveReason } from '../http/errors.ts';
import { isJsonObject, parseJson } from '../http/json.ts';
import type { Claims } from '../protocol/claims.ts';
import { namesOf, SIGNING_ALGORITHMS, type SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { Signs, Verifies } from './signatures/signatures.ts';
import type { SigningKeys } from './signing_keys.ts';

/** Why a text is no JWT of this server. */
export type JwtRefusal = Extract<InactiveReason, 'malformed' | 'unknown_key' | 'bad_signature'>;

/** The outcome of checking a signature; `type` is the `typ` header, in any case, with or without `application/`. */
export type VerifiedJwt =
  | {
      readonly verified: true;
      readonly type: string | undefined;
      readonly keyId: string;
      readonly claims: Claims;
      /** SHA-256 (base64url) of the token, where the service knows it already. */
      readonly digest?: string;
    }
  | { readonly verified: false; readonly reason: JwtRefusal };

export interface JwtSigning {
  /** `typ` header. */
  readonly type: string;
  readonly algorithm: SigningAlgorithm;
  /** A certain key, also a retired one; otherwise the current key of the algorithm. */
  readonly keyId?: string;
}

export interface SignedJwt {
  readonly token: string;
  readonly keyId: string;
}

/**
 * Signs and verifies JWTs. It speaks of signatures alone: times, issuer and state are judged elsewhere.
 * A host may bring its own, over a KMS for example.
 */
export interface JwtService {
  /**
   * The `alg` values that it can sign with, which metadata announces and clients may register. Among them must be those
   * of the server's options, and RS256 while refresh tokens are JWTs.
   */
  readonly algorithms: readonly SigningAlgorithm[];
  /** With RS256 the same claims, type and key give the same token again (RFC 8017 §8.2); refresh tokens rest on it. */
  sign(claims: Claims, signing: JwtSigning): Promise<SignedJwt>;
  /** The algorithm is the key's own, never the token's choice. A text that is no JWT of this server is no error. */
  verify(token: string): Promise<VerifiedJwt>;
  /** What JWKS shows: next, current and retired keys. */
  publicKeys(): Promise<readonly JWK[]>;
}

/** `JwtService` over the keys in storage; a rotation by any process is seen by the next call. */
export class StoredKeysJwtService implements JwtService {
  readonly algorithms = SIGNING_ALGORITHMS;
  readonly #keys: SigningKeys;
  /** Of the keys that have verified anything. When one joins them the keys have changed, and the memory is emptied. */
  readonly #keyIds = new Set<string>();
  readonly #verified = new VerifiedTokens();

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  async sign(claims: Claims, { type, algorithm, keyId }: JwtSigning): Promise<SignedJwt> {
    const key = await this.#keys.forSigning(algorithm, keyId);
    const header = { alg: key.algorithm, typ: type, kid: key.kid };
    return { token: await signedJwt(key.signs, header, claims), keyId: key.kid };
  }

  async verify(token: string): Promise<VerifiedJwt> {
    const digest = await sha256(token);
    const remembered = this.#verified.get(digest);
    const header = remembered ?? (await this.#check(token));
    if ('reason' in header) return { verified: false, reason: header.reason };
    const claims = claimsOfJwt(token);
    if (claims === undefined) return { verified: false, reason: 'malformed' };
    if (remembered === undefined) this.#verified.add(digest, header);
    return { verified: true, type: header.type, keyId: header.keyId, claims, digest };
  }

  /** @returns what the header of a token says whose signature verifies; or why it is none of this server's */
  async #check(token: string): Promise<VerifiedHeader | { readonly reason: JwtRefusal }> {
    const { keyId, algorithm, type, isExtended } = readJwtHeader(token) ?? {};
    if (keyId === undefined) return { reason: 'malformed' };
    const key = await this.#keys.forVerifying(keyId);
    if (key === undefined) return { reason: 'unknown_key' };
    // The algorithm is the key's own, and the server signs no extensions (RFC 7515 §4.1.11).
    if (algorithm !== key.algorithm || isExtended) return { reason: 'bad_signature' };
    if (!(await isSignedWith(key.verifies, token))) return { reason: 'bad_signature' };
    if (!this.#keyIds.has(keyId)) {
      this.#keyIds.add(keyId);
      this.#verified.clear();
    }
    return { keyId, type };
  }

  publicKeys(): Promise<readonly JWK[]> {
    return this.#keys.published();
  }
}

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

/** What the header of a token says whose signature has verified. */
interface VerifiedHeader {
  readonly keyId: string;
  readonly type: string | undefined;
}

/** Some 120 bytes each; twice as many at most. */
const MOST_TOKENS = 100_000;

/** More are not looked for: a server has few keys and types. */
const MOST_HEADERS = 100;

/** Which exact tokens have verified, by their digest; never what they claim, nor whether one is active. */
class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedHeader>(MOST_TOKENS, () => new TextTable());
  /** One of all equal headers, which the tokens of a key have in common. */
  readonly #headers = new RecentlyUsed<VerifiedHeader>(MOST_HEADERS);

  get(digest: string): VerifiedHeader | undefined {
    return this.#tokens.get(digest);
  }

  add(digest: string, header: VerifiedHeader): void {
    const name = `${header.keyId} ${header.type}`;
    const common = this.#headers.get(name);
    if (common === undefined) this.#headers.set(name, header);
    this.#tokens.set(digest, common ?? header);
  }

  clear(): void {
    this.#tokens.clear();
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
