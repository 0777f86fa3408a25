// Reads, selects and fetches public keys.
import type { CryptoKey, JWK } from 'jose';
import { importJWK } from 'jose/key/import';
import { sha256 } from '#crypto';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { isJsonObject, isListOfTexts, type JsonObject, parseJson } from '../http/http.ts';
import type { Clock } from '../platform/environment.ts';
import {
  type ClientAlgorithm,
  ENCRYPTION_ALGORITHMS,
  type EncryptionAlgorithm,
  namesOf,
} from '../protocol/client_metadata.ts';

/** Algorithms that a key can be used with. */
export type KeyAlgorithm = ClientAlgorithm | EncryptionAlgorithm;

/**
 * Bits of an RSA modulus, which is the product of odd primes (RFC 8017 §3.1). Shorter ones can be broken (RFC 7518 §3.3), longer ones cost too much
 * time.
 */
const RSA_BITS = { least: 2048, most: 8192 };

/** An RSA exponent is odd (RFC 8017 §3.1). With 1, every text is its own signature; long ones waste the server's time. */
const RSA_EXPONENT_BITS = { least: 2, most: 32 };

/** Maximum characters of a number in a key: an RSA modulus, with room for leading zeros. */
const MAX_NUMBER_LENGTH = 2048;

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Reads the usable keys of a JWK set, each with its public members only. Skips others (RFC 7517 §5): malformed or
 * unknown ones, symmetric ones, short ones, and private ones, whose secret is no longer secret.
 * @param most limit of keys that are read; `Infinity` for a trusted owner
 * @returns `undefined` if the value is not a JWK set
 */
export function readPublicKeys(set: unknown, most: number): readonly JWK[] | undefined {
  if (!isJsonObject(set) || !Array.isArray(set.keys)) return undefined;
  return set.keys
    .slice(0, most)
    .flatMap((jwk: unknown) => (isJsonObject(jwk) ? (readPublicKey(jwk) ?? []) : []));
}

/** Whether a key may be used with an algorithm, by its type, `alg`, `use` and `key_ops` (RFC 7517 §4). */
export function fitsAlgorithm(jwk: JWK, algorithm: KeyAlgorithm): boolean {
  const { kty, crv, alg, use, key_ops: operations } = jwk;
  const isEncryption = ENCRYPTION_ALGORITHMS.some((item) => item === algorithm);
  if (use !== undefined && use !== (isEncryption ? 'enc' : 'sig')) return false;
  if (operations !== undefined && !isEncryption && !operations.includes('verify')) return false;
  if (alg !== undefined && !namesOf(algorithm).includes(alg)) return false;
  const curve = CURVES[algorithm];
  if (curve !== undefined) return crv === curve && kty === (curve === 'Ed25519' ? 'OKP' : 'EC');
  if (algorithm.startsWith('ECDH')) return kty === 'EC' || (kty === 'OKP' && crv === 'X25519');
  return kty === 'RSA';
}

/** Algorithms with keys of one curve. */
const CURVES: Partial<Record<KeyAlgorithm, string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
};

/** Finds the key that made a signature: by `kid`, or without one, the only key for the algorithm. */
export function keyThatSigned(
  keys: readonly JWK[],
  algorithm: ClientAlgorithm,
  keyId: string | undefined,
): JWK | undefined {
  const fitting = keys.filter((jwk) => fitsAlgorithm(jwk, algorithm));
  if (keyId !== undefined) return fitting.find(({ kid }) => kid === keyId);
  return fitting.length === 1 ? fitting[0] : undefined;
}

/**
 * Returns the thumbprint of a public key (RFC 7638 §3): a digest of the members that it requires, in alphabetical order.
 * jose takes 25 µs longer, because it hashes in a thread of the pool.
 */
export async function thumbprintOf({ crv, e, kty, n, x, y }: JWK): Promise<string> {
  return sha256(JSON.stringify({ crv, e, kty, n, x, y }));
}

/** Removes the members about the key's use and owner. They have already been checked, and Web Crypto checks them differently. */
export function withoutUse({ use: _, key_ops: __, alg: ___, x5c: ____, ...numbers }: JWK): JWK {
  return numbers;
}

/**
 * Imports a key for jose.
 * @returns `undefined` if the key is invalid, for example a point that is not on its curve
 */
export async function importPublicKey(jwk: JWK, algorithm: KeyAlgorithm): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(withoutUse(jwk), algorithm);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined; // nothing is fetched here, so only the key itself can be wrong
  }
}

/** Members of a JWK that are secret (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * Reads a key, with its public members only.
 * @returns `undefined` if it is not usable, as in `readPublicKeys`
 */
export function readPublicKey(jwk: JsonObject): JWK | undefined {
  if (PRIVATE_MEMBERS.some((member) => member in jwk)) return undefined;
  const numbers = publicNumbers(jwk);
  const { kid, alg, use, key_ops: operations, x5c } = jwk;
  if (numbers === undefined || !(operations === undefined || isListOfTexts(operations))) return undefined;
  return {
    ...numbers,
    ...(typeof kid === 'string' && { kid }),
    ...(typeof alg === 'string' && { alg }),
    ...(typeof use === 'string' && { use }),
    ...(operations !== undefined && { key_ops: [...operations] }),
    ...(isCertificateChain(x5c) && { x5c: [x5c[0]] }),
  };
}

/** Maximum characters of a certificate, in base64. */
const MAX_CERTIFICATE_LENGTH = 16 * 1024;

/** Only the first certificate is of this key (RFC 7517 §4.7). */
function isCertificateChain(value: unknown): value is [string, ...unknown[]] {
  const [first]: readonly unknown[] = Array.isArray(value) ? value : [];
  return typeof first === 'string' && first.length <= MAX_CERTIFICATE_LENGTH;
}

function publicNumbers({ kty, n, e, crv, x, y }: JsonObject): JWK | undefined {
  if (kty === 'RSA' && isNumber(n) && isNumber(e)) {
    const isUsual = isWithin(bitsOf(n), RSA_BITS) && isWithin(bitsOf(e), RSA_EXPONENT_BITS);
    return isUsual && isOdd(n) && isOdd(e) ? { kty, n, e } : undefined;
  }
  if (kty === 'EC' && isCurve(crv, 'P-256', 'P-384', 'P-521') && isNumber(x) && isNumber(y))
    return { kty, crv, x, y };
  if (kty === 'OKP' && isCurve(crv, 'Ed25519', 'X25519') && isNumber(x)) return { kty, crv, x };
  return undefined;
}

function isNumber(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_NUMBER_LENGTH) return false;
  return BASE64URL.test(value) && value.length % 4 !== 1; // base64url never has such a length
}

function isCurve(value: unknown, ...curves: readonly string[]): value is string {
  return curves.some((curve) => curve === value);
}

function isWithin(bits: number, { least, most }: { readonly least: number; readonly most: number }): boolean {
  return bits >= least && bits <= most;
}

function isOdd(number: string): boolean {
  return (bytesOf(number).at(-1) ?? 0) % 2 === 1;
}

function bytesOf(number: string): Uint8Array {
  return Uint8Array.from(atob(number.replaceAll('-', '+').replaceAll('_', '/')), (item) =>
    item.charCodeAt(0),
  );
}

/** Ignores leading zeros, which would make a short key look long. */
function bitsOf(number: string): number {
  const bytes = bytesOf(number);
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - Math.clz32(bytes[first] ?? 0) + 24;
}

/** Milliseconds after which a fetched set is fetched again, so that keys that were removed stop working. */
const CACHE_MS = 5 * 60 * 1000;

/** Milliseconds between two requests to the same URI, also after a failure. */
const RETRY_AFTER_MS = 10 * 1000;

/** Maximum sets in the cache. The least recently used one is dropped first. */
const MAX_SETS = 1000;

interface RemoteKeySetsParts {
  readonly fetchDocument: FetchDocument;
  readonly clock: Clock;
  /** Limit of keys that are read from one set; `Infinity` for all. */
  readonly mostKeys: number;
}

/** The cached set of one URI. */
interface KeySet {
  keys: readonly JWK[];
  /** Milliseconds since 1970 at which the keys were fetched. */
  fetchedAtMs: number;
  /**
   * Milliseconds since 1970 of the last request that failed, or that was made because fresh keys lacked one. A first
   * request does not count: the owner may replace the keys directly after it.
   */
  triedAtMs: number;
  /** Why the last request failed. */
  error?: unknown;
  fetching?: Promise<readonly JWK[]> | undefined;
}

/** Fetches key sets (RFC 7517 §5), and caches them for a few minutes. */
export class RemoteKeySets {
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  readonly #mostKeys: number;
  readonly #sets = new Map<string, KeySet>();

  constructor({ fetchDocument, clock, mostKeys }: RemoteKeySetsParts) {
    this.#fetchDocument = fetchDocument;
    this.#clock = clock;
    this.#mostKeys = mostKeys;
  }

  /** The next lookup of each set fetches it. */
  forgetCached(): void {
    this.#sets.clear();
  }

  /**
   * Finds a key of the set at a URI. If the cached set does not contain it, fetches the set again at once, but then not
   * for another ten seconds. Concurrent callers share one request.
   * @throws {DocumentError} the set cannot be fetched, or is not a JWK set
   */
  async find(uri: string, choose: (keys: readonly JWK[]) => JWK | undefined): Promise<JWK | undefined> {
    const set = this.#setOf(uri);
    const isFresh = this.#clock() - set.fetchedAtMs < CACHE_MS;
    return (isFresh ? choose(set.keys) : undefined) ?? choose(await this.#renewed(uri, set, isFresh));
  }

  #setOf(uri: string): KeySet {
    const set = this.#sets.get(uri) ?? { keys: [], fetchedAtMs: -Infinity, triedAtMs: -Infinity };
    this.#sets.delete(uri); // move it to the end, as the most recently used
    this.#sets.set(uri, set);
    const [oldest] = this.#sets.keys();
    if (this.#sets.size > MAX_SETS && oldest !== undefined) this.#sets.delete(oldest);
    return set;
  }

  /** @throws {DocumentError} this request fails, or the previous one did a moment ago */
  async #renewed(uri: string, set: KeySet, isFresh: boolean): Promise<readonly JWK[]> {
    if (set.fetching !== undefined) return set.fetching;
    const nowMs = this.#clock();
    if (nowMs - set.triedAtMs < RETRY_AFTER_MS) {
      if (set.error !== undefined) throw set.error;
      if (isFresh) return set.keys;
    }
    if (isFresh) set.triedAtMs = nowMs;
    set.fetching = this.#fetch(uri);
    try {
      set.keys = await set.fetching;
      set.fetchedAtMs = nowMs;
      set.error = undefined;
      return set.keys;
    } catch (error) {
      set.triedAtMs = nowMs;
      set.error = error; // the cached keys stay in use for their time
      throw error;
    } finally {
      set.fetching = undefined;
    }
  }

  async #fetch(uri: string): Promise<readonly JWK[]> {
    const body = await fetchBody(this.#fetchDocument, uri, {
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    const keys = readPublicKeys(parseJson(body), this.#mostKeys);
    if (keys === undefined) throw new DocumentError('refused', 'the document is not a JWK set');
    return keys;
  }
}
