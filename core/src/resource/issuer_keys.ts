import type { JWK } from 'jose';
import { verifierOf } from '#signatures';
import type { Clock } from '../protocol/environment.ts';
import type { FetchDocument } from '../protocol/fetch_document.ts';
import type { SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import { keyThatSigned, withoutUse } from '../tokens/public_keys.ts';
import { RemoteKeySets } from '../tokens/remote_key_sets.ts';
import type { Verifies } from '../tokens/signatures/signatures.ts';

/** Where the keys of an issuer are: given, or behind a URL. */
export type KeySource = { readonly keys: readonly JWK[] } | { readonly url: () => Promise<string> };

/** The public keys that an issuer signs with, ready to check signatures. */
export class IssuerKeys {
  readonly #source: KeySource;
  readonly #remote: RemoteKeySets;
  /** Each key is made ready once; it goes when the set does that it came in. */
  readonly #ready = new WeakMap<JWK, Map<SigningAlgorithm, Promise<Verifies | undefined>>>();

  constructor(source: KeySource, parts: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#source = source;
    // An issuer shows a retired key as long as anything lives that it has signed, and its current one may come last: of
    // a set that was fetched whole nothing is left out, and one that is too large for that is a fault.
    this.#remote = new RemoteKeySets({ ...parts, mostKeys: Infinity });
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
  try {
    return await verifierOf(withoutUse(jwk), algorithm);
  } catch {
    return undefined; // nothing here asks anybody: the numbers are all that can be wrong
  }
}
