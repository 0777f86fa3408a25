import type { JWK } from 'jose';
import { verifierOf } from '#signatures';
import type { Clock } from '../protocol/environment.ts';
import type { FetchDocument } from '../protocol/fetch_document.ts';
import type { SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import { keyThatSigned, readClientKeys } from '../tokens/client_jwk.ts';
import { RemoteKeySets } from '../tokens/remote_key_sets.ts';
import type { Verifies } from '../tokens/signatures/signatures.ts';

/** Where the keys of an issuer are: given, or behind a URL. */
export type KeySource = { readonly keys: readonly JWK[] } | { readonly url: () => Promise<string> };

/**
 * Keys of an issuer that are looked at: more than a document of the size that is read can hold. Its newest key, which
 * signs, may be the last of many that have signed before.
 */
const MOST_ISSUER_KEYS = 1000;

/** The keys of a set that may be used; `undefined` where the value is no JWK set. */
export function readIssuerKeys(set: unknown): readonly JWK[] | undefined {
  return readClientKeys(set, MOST_ISSUER_KEYS);
}

/** The public keys that an issuer signs with, ready to check signatures. */
export class IssuerKeys {
  readonly #source: KeySource;
  readonly #remote: RemoteKeySets;
  /** Each key is made ready once; it goes when the set does that it came in. */
  readonly #ready = new WeakMap<JWK, Map<SigningAlgorithm, Promise<Verifies | undefined>>>();

  constructor(source: KeySource, parts: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#source = source;
    this.#remote = new RemoteKeySets({ ...parts, mostKeys: MOST_ISSUER_KEYS });
  }

  /**
   * @returns `undefined` where the issuer has no such key
   * @throws {DocumentError} its keys cannot be fetched
   */
  async find(algorithm: SigningAlgorithm, keyId: string | undefined): Promise<Verifies | undefined> {
    const choose = (keys: readonly JWK[]) => keyThatSigned(keys, algorithm, keyId);
    const jwk =
      'keys' in this.#source
        ? choose(this.#source.keys)
        : await this.#remote.find(await this.#source.url(), choose);
    return jwk && this.#made(jwk, algorithm);
  }

  #made(jwk: JWK, algorithm: SigningAlgorithm): Promise<Verifies | undefined> {
    const made = this.#ready.get(jwk) ?? new Map<SigningAlgorithm, Promise<Verifies | undefined>>();
    this.#ready.set(jwk, made);
    const verifies = made.get(algorithm) ?? makeReady(jwk, algorithm);
    made.set(algorithm, verifies);
    return verifies;
  }
}

/** @returns `undefined` where its numbers are no key, such as a point that is not on its curve */
async function makeReady(jwk: JWK, algorithm: SigningAlgorithm): Promise<Verifies | undefined> {
  const { use: _, key_ops: __, alg: ___, ...numbers } = jwk;
  try {
    return await verifierOf(numbers, algorithm);
  } catch {
    return undefined; // nothing here asks anybody: the numbers are all that can be wrong
  }
}
