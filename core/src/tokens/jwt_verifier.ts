// Verifies JWTs that a host, or the server that grantd replaces, has signed with keys of its own.
import type { CryptoKey, JWK, JWSHeaderParameters } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { compactVerify } from 'jose/jws/compact/verify';
import { importJWK } from 'jose/key/import';
import { ConfigurationError } from '../http/errors.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import {
  MAC_ALGORITHMS,
  type MacAlgorithm,
  macAlgorithmOf,
  macKeyBytes,
} from '../protocol/client_metadata.ts';
import { parseClaims, readJwtHeader } from './jwt.ts';
import type { JwtRefusal, JwtVerifier, VerifiedJwt } from './jwt_service.ts';
import { readPublicKey, withoutUse } from './public_keys.ts';

/** A key with the only algorithm that it verifies. */
export type VerificationKey = {
  /** `kid` of the tokens that it signed. Default: tokens without a `kid`. */
  readonly keyId?: string;
} & (
  | {
      readonly algorithm: 'HS256' | 'HS384' | 'HS512';
      /** At least as many bits as the algorithm has. A string is used as UTF-8 bytes. */
      readonly secret: string | Uint8Array;
    }
  | {
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519. */
      readonly algorithm: string;
      /** RSA keys must have 2048 to 8192 bits. */
      readonly publicKey: JWK | CryptoKey;
    }
);

/** Finds the public key of a token by its header, such as `createRemoteJWKSet()` of jose, or a call to a KMS. */
export type FindVerificationKey = (header: JWSHeaderParameters, token: never) => Promise<CryptoKey>;

/** Where the keys of a `jwtVerifier` come from: a public key, a JWK set, a list of 1 to 16 keys, or a function. */
export type VerificationKeys =
  | CryptoKey
  | { readonly keys: readonly JWK[] }
  | readonly VerificationKey[]
  | FindVerificationKey;

/** By `kty` and `crv` of a key: the algorithms that it can have, the usual one first. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
};
const SIGNATURES: readonly string[] = Object.values(ALGORITHMS).flat();

const PUBLIC_JWK = 'a JWK with the public part of a key';

/** Limits the signatures that a token without `kid` is checked against. */
const MAX_KEYS = 16;

/** A key with the `alg` values that it accepts. */
interface ReadyKey {
  /** Whether the key can have signed a token with this `kid`. */
  fits(keyId: string | undefined): boolean;
  readonly algorithms: readonly string[];
  readonly key: CryptoKey | Uint8Array | Promise<CryptoKey | Uint8Array>;
}

/**
 * Makes the `JwtVerifier` of a host that signs its tokens itself: it checks signatures, and nothing else. The algorithm
 * is that of the key, never that of the token. A key of a JWK set without `alg` verifies the usual algorithm of its type:
 * RS256, ES256, ES384, ES512 or EdDSA.
 * @throws {ConfigurationError} a key is invalid; the message names it, but never contains it
 * @example
 * jwtService: jwtVerifier(publicKey) // a CryptoKey
 * jwtService: jwtVerifier({ keys: [jwk] })
 * jwtService: jwtVerifier([{ algorithm: 'HS256', secret: process.env.JWT_SECRET }])
 * jwtService: jwtVerifier(createRemoteJWKSet(new URL('https://login.example/jwks')))
 */
export function jwtVerifier(keys: VerificationKeys): JwtVerifier {
  if (typeof keys === 'function') return { verify: (token) => verifyWithFound(token, keys) };
  const ready = readyKeys(keys);
  return { verify: (token) => verifyWith(token, ready) };
}

/** @throws {ConfigurationError} names the member and says what was expected, but never contains a key */
function readyKeys(keys: unknown): readonly ReadyKey[] {
  const option = 'jwtVerifier';
  if (isCryptoKey(keys))
    return [{ fits: () => true, algorithms: withBothNames([algorithmOfKey(keys, option)]), key: keys }];
  const { keys: set }: JsonObject = isJsonObject(keys) ? keys : {};
  const list: unknown = set ?? keys;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_KEYS)
    throw new ConfigurationError(
      option,
      `a CryptoKey, a JWK set, a function, or a list of 1 to ${MAX_KEYS} keys`,
    );
  if (set === undefined) return list.map((key: unknown, index) => namedKey(key, `${option}.${index}`));
  // Key sets also hold keys for other purposes, and of types that this server does not know (RFC 7517 §5).
  const usable = list.flatMap((key: unknown, index) => {
    try {
      return [keyOfSet(key, `${option}.keys.${index}`)];
    } catch {
      return [];
    }
  });
  if (usable.length > 0) return usable;
  throw new ConfigurationError(`${option}.keys`, `${PUBLIC_JWK} that verifies signatures`);
}

function keyOfSet(value: unknown, option: string): ReadyKey {
  const { jwk, possible } = publicKeyOf(value, option);
  const algorithms = jwk.alg === undefined ? possible.slice(0, 1) : [jwk.alg];
  const fits = (keyId: string | undefined) =>
    keyId === undefined || jwk.kid === undefined || keyId === jwk.kid;
  return ready(fits, withBothNames(algorithms), jwk, possible, option);
}

function namedKey(value: unknown, option: string): ReadyKey {
  const { keyId, algorithm, secret, publicKey }: JsonObject = isJsonObject(value) ? value : {};
  if (keyId !== undefined && typeof keyId !== 'string')
    throw new ConfigurationError(`${option}.keyId`, 'a text');
  if (typeof algorithm !== 'string' || ![...MAC_ALGORITHMS, ...SIGNATURES].includes(algorithm))
    throw new ConfigurationError(
      `${option}.algorithm`,
      `one of ${[...MAC_ALGORITHMS, ...SIGNATURES].join(', ')}`,
    );
  const fits = (found: string | undefined) => found === keyId;
  const mac = macAlgorithmOf(algorithm);
  if (mac !== undefined)
    return { fits, algorithms: [mac], key: secretBytes(secret, mac, `${option}.secret`) };
  if (isCryptoKey(publicKey)) {
    const own = algorithmOfKey(publicKey, `${option}.publicKey`);
    if (!withBothNames([own]).includes(algorithm))
      throw new ConfigurationError(`${option}.publicKey`, `a key for ${algorithm}`);
    return { fits, algorithms: withBothNames([algorithm]), key: publicKey };
  }
  const { jwk, possible } = publicKeyOf(publicKey, `${option}.publicKey`, algorithm);
  return ready(fits, withBothNames([algorithm]), jwk, possible, `${option}.publicKey`);
}

/** Reads a JWK, with its public members only. */
function publicKeyOf(value: unknown, option: string, algorithm?: string) {
  const jwk = isJsonObject(value) ? readPublicKey(value) : undefined;
  const possible = ALGORITHMS[jwk?.kty === 'RSA' ? 'RSA' : (jwk?.crv ?? '')] ?? [];
  const named = algorithm ?? jwk?.alg ?? possible[0] ?? '';
  const isForIt = jwk?.alg === undefined || withBothNames([jwk.alg]).includes(named);
  const verifies = jwk?.use !== 'enc' && (jwk?.key_ops?.includes('verify') ?? true);
  const isUsable = jwk !== undefined && possible.includes(named) && isForIt && verifies;
  const whose = algorithm === undefined ? '' : ` for ${algorithm}`;
  if (!isUsable) throw new ConfigurationError(option, PUBLIC_JWK + whose);
  return { jwk, possible };
}

function ready(
  fits: ReadyKey['fits'],
  algorithms: readonly string[],
  jwk: JWK,
  possible: readonly string[],
  option: string,
): ReadyKey {
  const [algorithm = ''] = algorithms;
  if (!possible.includes(algorithm)) throw new ConfigurationError(option, `a key for ${algorithm}`);
  const key = importJWK(withoutUse(jwk), algorithm).catch(() => {
    throw new ConfigurationError(option, `${PUBLIC_JWK} for ${algorithm}`);
  });
  key.catch(() => {}); // each verification reports it
  return { fits, algorithms, key };
}

/** EdDSA with this curve has two names (RFC 9864 §2.2). */
function withBothNames(algorithms: readonly string[]): readonly string[] {
  return algorithms.some((algorithm) => algorithm === 'EdDSA' || algorithm === 'Ed25519')
    ? ['EdDSA', 'Ed25519']
    : algorithms;
}

/** From a token, anyone can try shorter secrets (RFC 7518 §3.2). */
function secretBytes(secret: unknown, algorithm: MacAlgorithm, option: string): Uint8Array {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  const least = macKeyBytes(algorithm);
  if (bytes instanceof Uint8Array && bytes.length >= least) return bytes.slice();
  throw new ConfigurationError(option, `a string or bytes, of at least ${least} bytes for ${algorithm}`);
}

function isCryptoKey(value: unknown): value is CryptoKey {
  return typeof CryptoKey === 'function' && value instanceof CryptoKey;
}

interface KeyAlgorithmOfAnyKind {
  readonly name: string;
  readonly hash?: { readonly name: string };
  readonly namedCurve?: string;
  readonly modulusLength?: number;
}

const LEAST_RSA_BITS = 2048;
const MOST_RSA_BITS = 8192;

/** The algorithm of a public key by Web Crypto's names. */
function algorithmOfKey({ type, algorithm, usages }: CryptoKey, option: string): string {
  const { name, hash, namedCurve, modulusLength = LEAST_RSA_BITS }: KeyAlgorithmOfAnyKind = algorithm;
  if (modulusLength < LEAST_RSA_BITS || modulusLength > MOST_RSA_BITS)
    throw new ConfigurationError(option, `an RSA key of ${LEAST_RSA_BITS} to ${MOST_RSA_BITS} bits`);
  const bits = hash?.name.replace('SHA-', '');
  const [found] =
    name === 'RSASSA-PKCS1-v1_5'
      ? [`RS${bits}`]
      : name === 'RSA-PSS'
        ? [`PS${bits}`]
        : (ALGORITHMS[namedCurve ?? name] ?? []);
  if (type === 'public' && usages.includes('verify') && found !== undefined && SIGNATURES.includes(found))
    return found;
  throw new ConfigurationError(option, 'a public CryptoKey that verifies signatures');
}

async function verifyWith(token: string, keys: readonly ReadyKey[]): Promise<VerifiedJwt> {
  const header = readJwtHeader(token);
  const { keyId, algorithm = '', isExtended = true } = header ?? {};
  if (header === undefined) return { verified: false, reason: 'malformed' };
  const named = keys.filter(({ fits }) => fits(keyId));
  if (named.length === 0) return { verified: false, reason: 'unknown_key' };
  for (const { key, algorithms } of named) {
    const opened = await key; // an invalid key is an error for every token
    // No token has critical extensions (RFC 7515 §4.1.11).
    if (isExtended || !algorithms.includes(algorithm)) continue;
    const verified = await verifiedBy(token, opened, algorithms);
    if (verified !== undefined) return verified;
  }
  return { verified: false, reason: 'bad_signature' };
}

async function verifyWithFound(token: string, find: FindVerificationKey): Promise<VerifiedJwt> {
  const { algorithm = '', isExtended = true } = readJwtHeader(token) ?? {};
  if (algorithm === '') return { verified: false, reason: 'malformed' };
  if (isExtended || !SIGNATURES.includes(algorithm)) return { verified: false, reason: 'bad_signature' };
  const { keys = [], reason = 'bad_signature' } = await keysFound(token, find);
  for (const key of keys) {
    const option = 'jwtVerifier';
    if (!isCryptoKey(key))
      throw new ConfigurationError(option, 'a function that finds a public CryptoKey, or nothing');
    const algorithms = withBothNames([algorithmOfKey(key, option)]);
    const verified = algorithms.includes(algorithm) && (await verifiedBy(token, key, algorithms));
    if (verified) return verified;
  }
  return { verified: false, reason };
}

/**
 * Asks for the key of a token. jose's key sets have several keys for a token without `kid`, and hand them out one by one.
 * @throws the keys cannot be had
 */
async function keysFound(
  token: string,
  find: FindVerificationKey,
): Promise<{ readonly keys?: readonly unknown[]; readonly reason?: JwtRefusal }> {
  const [header, payload, signature] = token.split('.');
  try {
    const key: unknown = await find(
      decodeProtectedHeader(token) as JWSHeaderParameters,
      { protected: header, payload, signature } as never,
    );
    return key === undefined || key === null ? { reason: 'unknown_key' } : { keys: [key] };
  } catch (error) {
    if (codeOf(error) === SEVERAL_KEYS) {
      const keys: CryptoKey[] = [];
      for await (const key of error as AsyncIterable<CryptoKey>) keys.push(key);
      return { keys };
    }
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    return { reason };
  }
}

async function verifiedBy(
  token: string,
  key: CryptoKey | Uint8Array,
  algorithms: readonly string[],
): Promise<VerifiedJwt | undefined> {
  try {
    const { payload, protectedHeader } = await compactVerify(token, key, { algorithms: [...algorithms] });
    return verifiedJwt(payload, protectedHeader);
  } catch (error) {
    if (refusalOf(error) === undefined) throw error;
    return undefined;
  }
}

function verifiedJwt(payload: Uint8Array, { typ, kid }: JWSHeaderParameters): VerifiedJwt {
  const claims = parseClaims(payload);
  if (claims === undefined) return { verified: false, reason: 'malformed' };
  return { verified: true, type: typ, keyId: kid, claims };
}

const SEVERAL_KEYS = 'ERR_JWKS_MULTIPLE_MATCHING_KEYS';

/** jose's errors about a token. All others are about the keys, such as an answer of a key server that is no key set. */
const REFUSALS: Readonly<Record<string, JwtRefusal>> = {
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
};
const BAD_SIGNATURES: readonly string[] = [
  SEVERAL_KEYS,
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
];

/**
 * Returns why a token was refused, by an error of jose. By its code, because a host may have another copy of jose.
 * @returns `undefined` for every error that is not about the token
 */
export function refusalOf(error: unknown): JwtRefusal | undefined {
  const code = codeOf(error);
  if (BAD_SIGNATURES.includes(code)) return 'bad_signature';
  return Object.hasOwn(REFUSALS, code) ? REFUSALS[code] : undefined;
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : '';
}
