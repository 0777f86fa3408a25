import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { Clock } from '../environment.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { isJsonObject, type JsonObject, parseJson } from '../http/http.ts';
import {
  ENCRYPTION_ALGORITHMS,
  type EncryptionAlgorithm,
  type SigningAlgorithm,
} from '../protocol/client_metadata.ts';

/** What a key is wanted for. */
export type KeyAlgorithm = SigningAlgorithm | EncryptionAlgorithm;

/** Bits of an RSA modulus: less can be broken (RFC 7518 §3.3), more costs this server too much. */
const RSA_BITS = { least: 2048, most: 8192 };

/** Bytes of an RSA exponent; longer ones are for making somebody else compute. */
const LONGEST_EXPONENT = 4;

/** Characters of any number in a key: an RSA modulus with room for zeros in front. */
const LONGEST_NUMBER = 2048;

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * The keys of a JWK set that may be used, each with its public members alone. Others are left out, as RFC 7517 §5
 * wants it: malformed, of unknown kinds, symmetric, too short, or private ones, which are nobody's secret any more.
 * @param most keys that are looked at; `Infinity` for an owner who is trusted
 * @returns `undefined` where the value is no JWK set
 */
export function readPublicKeys(set: unknown, most: number): readonly JWK[] | undefined {
  if (!isJsonObject(set) || !Array.isArray(set.keys)) return undefined;
  return set.keys.slice(0, most).flatMap((jwk: unknown) => (isJsonObject(jwk) ? publicKey(jwk) : []));
}

/** Whether a key is one for an algorithm, by its type, `alg`, `use` and `key_ops` (RFC 7517 §4). */
export function fitsAlgorithm(jwk: JWK, algorithm: KeyAlgorithm): boolean {
  const { kty, crv, alg, use, key_ops: operations } = jwk;
  const isEncryption = ENCRYPTION_ALGORITHMS.some((one) => one === algorithm);
  if (use !== undefined && use !== (isEncryption ? 'enc' : 'sig')) return false;
  if (operations !== undefined && !isEncryption && !operations.includes('verify')) return false;
  if (alg !== undefined && alg !== algorithm && !(algorithm === 'EdDSA' && alg === 'Ed25519')) return false;
  switch (algorithm) {
    case 'RS256':
    case 'PS256':
    case 'RSA-OAEP-256':
      return kty === 'RSA';
    case 'ES256':
      return kty === 'EC' && crv === 'P-256';
    case 'EdDSA':
      return kty === 'OKP' && crv === 'Ed25519';
    case 'ECDH-ES':
    case 'ECDH-ES+A128KW':
    case 'ECDH-ES+A256KW':
      return kty === 'EC' || (kty === 'OKP' && crv === 'X25519');
  }
}

/**
 * Which of several keys has signed something, by the `kid` of its header; where it has none, the one key of that
 * algorithm.
 */
export function keyThatSigned(
  keys: readonly JWK[],
  algorithm: SigningAlgorithm,
  keyId: string | undefined,
): JWK | undefined {
  const fitting = keys.filter((jwk) => fitsAlgorithm(jwk, algorithm));
  if (keyId !== undefined) return fitting.find(({ kid }) => kid === keyId);
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** A key without what it says it is for: that has been judged, and who imports keys may judge otherwise. */
export function withoutUse({ use: _, key_ops: __, alg: ___, ...numbers }: JWK): JWK {
  return numbers;
}

/**
 * The key as jose takes it.
 * @returns `undefined` where its numbers are no key, such as a point that is not on its curve
 */
export async function importPublicKey(jwk: JWK, algorithm: KeyAlgorithm): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(withoutUse(jwk), algorithm);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined; // nothing here asks anybody: the numbers are all that can be wrong
  }
}

function publicKey(jwk: JsonObject): readonly JWK[] {
  if ('d' in jwk || 'k' in jwk) return [];
  const numbers = publicNumbers(jwk);
  const { kid, alg, use, key_ops: operations } = jwk;
  if (numbers === undefined || !(operations === undefined || isListOfTexts(operations))) return [];
  return [
    {
      ...numbers,
      ...(typeof kid === 'string' && { kid }),
      ...(typeof alg === 'string' && { alg }),
      ...(typeof use === 'string' && { use }),
      ...(operations !== undefined && { key_ops: [...operations] }),
    },
  ];
}

function publicNumbers({ kty, n, e, crv, x, y }: JsonObject): JWK | undefined {
  if (kty === 'RSA' && isNumber(n) && isNumber(e)) {
    const bits = bitsOf(n);
    const isUsual = bits >= RSA_BITS.least && bits <= RSA_BITS.most && bytesOf(e) <= LONGEST_EXPONENT;
    return isUsual ? { kty, n, e } : undefined;
  }
  if (kty === 'EC' && isCurve(crv, 'P-256', 'P-384', 'P-521') && isNumber(x) && isNumber(y))
    return { kty, crv, x, y };
  if (kty === 'OKP' && isCurve(crv, 'Ed25519', 'X25519') && isNumber(x)) return { kty, crv, x };
  return undefined;
}

function isNumber(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LONGEST_NUMBER) return false;
  return BASE64URL.test(value) && value.length % 4 !== 1; // no bytes have so many characters
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isCurve(value: unknown, ...curves: readonly string[]): value is string {
  return curves.some((curve) => curve === value);
}

function bytesOf(number: string): number {
  return Math.floor((number.length * 3) / 4);
}

/** Without the zeros in front, which would make a short key look long. */
function bitsOf(number: string): number {
  const bytes = Uint8Array.from(atob(number.replaceAll('-', '+').replaceAll('_', '/')), (one) =>
    one.charCodeAt(0),
  );
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - Math.clz32(bytes[first] ?? 0) + 24;
}

/** Milliseconds after which a key that its owner has taken away counts no more. */
const LONGEST_USE = 5 * 60 * 1000;

/** Milliseconds between two requests to one URI, whatever key is asked for and whatever came of the last. */
const COOL_DOWN = 10 * 1000;

/** URIs whose keys are remembered; those that were asked for least recently are forgotten first. */
const MOST_SETS = 1000;

interface RemoteKeySetsParts {
  readonly fetchDocument: FetchDocument;
  readonly clock: Clock;
  /** Keys of one set that are looked at; `Infinity` for as many as a document holds. */
  readonly mostKeys: number;
}

/** What is known of the set behind one URI. */
interface KeySet {
  keys: readonly JWK[];
  /** Milliseconds; of the keys. */
  fetchedAtMs: number;
  /** Milliseconds; of the last request, whatever came of it. */
  askedAtMs: number;
  /** Why the last request brought no keys. */
  error?: unknown;
  underWay?: Promise<readonly JWK[]> | undefined;
}

/** Key sets behind URIs (RFC 7517 §5), remembered for a few minutes. */
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

  /**
   * A key of the set behind a URI. Where the remembered set does not have it, the set is fetched anew, but not more
   * often than the cool-down lets; several who ask at once share one request.
   * @throws {DocumentError} the set cannot be fetched, or is none
   */
  async find(uri: string, choose: (keys: readonly JWK[]) => JWK | undefined): Promise<JWK | undefined> {
    const set = this.#setOf(uri);
    const remembered = this.#clock() - set.fetchedAtMs < LONGEST_USE ? choose(set.keys) : undefined;
    return remembered ?? choose(await this.#renewed(uri, set));
  }

  #setOf(uri: string): KeySet {
    const set = this.#sets.get(uri) ?? { keys: [], fetchedAtMs: -Infinity, askedAtMs: -Infinity };
    this.#sets.delete(uri); // and back to the end of the order, as the one that was asked for last
    this.#sets.set(uri, set);
    const [oldest] = this.#sets.keys();
    if (this.#sets.size > MOST_SETS && oldest !== undefined) this.#sets.delete(oldest);
    return set;
  }

  /** @throws {DocumentError} the last request failed, or this one does */
  async #renewed(uri: string, set: KeySet): Promise<readonly JWK[]> {
    if (set.underWay !== undefined) return set.underWay;
    if (this.#clock() - set.askedAtMs < COOL_DOWN) {
      if (set.error !== undefined) throw set.error;
      return set.keys;
    }
    set.askedAtMs = this.#clock();
    set.underWay = this.#fetch(uri);
    try {
      set.keys = await set.underWay;
      set.fetchedAtMs = set.askedAtMs;
      set.error = undefined;
      return set.keys;
    } catch (error) {
      set.error = error; // what was fetched before stays good for its time
      throw error;
    } finally {
      set.underWay = undefined;
    }
  }

  async #fetch(uri: string): Promise<readonly JWK[]> {
    const body = await fetchBody(this.#fetchDocument, uri, {
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    const keys = readPublicKeys(parseJson(body), this.#mostKeys);
    if (keys === undefined) throw new DocumentError('refused', 'the document is no JWK set');
    return keys;
  }
}
