import type { JWK } from 'jose';
import type { Clock } from '../protocol/environment.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../protocol/fetch_document.ts';
import { parseJson } from '../protocol/json.ts';
import { MOST_CLIENT_KEYS, readClientKeys } from './client_jwk.ts';

/** Milliseconds after which a key that its owner has taken away counts no more. */
const LONGEST_USE = 5 * 60 * 1000;

/** Milliseconds between two requests to one URI, whatever key is asked for and whatever came of the last. */
const COOL_DOWN = 10 * 1000;

/** URIs whose keys are remembered; those that were asked for least recently are forgotten first. */
const MOST_SETS = 1000;

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

export interface RemoteKeySetsParts {
  readonly fetchDocument: FetchDocument;
  readonly clock: Clock;
  /** Keys of one set that are looked at. Default: as many as of a client's. */
  readonly mostKeys?: number;
}

/** Key sets behind URIs (RFC 7517 §5), remembered for a few minutes. */
export class RemoteKeySets {
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  readonly #mostKeys: number;
  readonly #sets = new Map<string, KeySet>();

  constructor({ fetchDocument, clock, mostKeys = MOST_CLIENT_KEYS }: RemoteKeySetsParts) {
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
    const keys = readClientKeys(parseJson(body), this.#mostKeys);
    if (keys === undefined) throw new DocumentError('refused', 'the document is no JWK set');
    return keys;
  }
}
