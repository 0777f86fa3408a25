import type { Clock } from '../protocol/environment.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../protocol/fetch_document.ts';
import { isJsonObject, type JsonObject, parseJson } from '../protocol/json.ts';
import { isAskable, type TransportPolicy } from './transport_policy.ts';

/** Milliseconds after which metadata is fetched anew; what was known stays good while it cannot be. */
const LONGEST_USE = 60 * 60 * 1000;

/** Milliseconds between two requests, whatever came of the first. */
const COOL_DOWN = 10 * 1000;

/** Where an issuer is asked for what, by its metadata (RFC 8414), which is remembered for an hour. */
export class IssuerMetadata {
  readonly #policy: TransportPolicy;
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  #metadata: JsonObject | undefined;
  #error: unknown;
  /** Milliseconds; of the last request, whatever came of it. */
  #askedAtMs = -Infinity;
  #underWay: Promise<JsonObject> | undefined;

  constructor(parts: {
    readonly policy: TransportPolicy;
    readonly fetchDocument: FetchDocument;
    readonly clock: Clock;
  }) {
    this.#policy = parts.policy;
    this.#fetchDocument = parts.fetchDocument;
    this.#clock = parts.clock;
  }

  /**
   * A URL of the issuer's metadata. Those who ask at once share one request.
   * @throws {DocumentError} metadata cannot be fetched, is another issuer's, or names no such URL that may be asked
   */
  async url(name: 'jwks_uri' | 'introspection_endpoint'): Promise<string> {
    const { [name]: url } = await this.#current();
    if (typeof url === 'string' && isAskable(url, this.#policy)) return url;
    throw new DocumentError('refused', `the metadata of the issuer names no ${name} that may be asked`);
  }

  async #current(): Promise<JsonObject> {
    const ageMs = this.#clock() - this.#askedAtMs;
    if (this.#metadata !== undefined && ageMs < LONGEST_USE) return this.#metadata;
    if (this.#underWay !== undefined) return this.#underWay;
    if (ageMs < COOL_DOWN && this.#error !== undefined) throw this.#error;
    this.#askedAtMs = this.#clock();
    this.#underWay = this.#fetch();
    try {
      this.#metadata = await this.#underWay;
      this.#error = undefined;
      return this.#metadata;
    } catch (error) {
      this.#error = error;
      if (this.#metadata !== undefined) return this.#metadata;
      throw error;
    } finally {
      this.#underWay = undefined;
    }
  }

  async #fetch(): Promise<JsonObject> {
    const { issuer } = this.#policy;
    const headers = { accept: 'application/json' };
    const metadata = parseJson(await fetchBody(this.#fetchDocument, metadataUrl(issuer), { headers }));
    // RFC 8414 §3.3
    if (isJsonObject(metadata) && metadata.issuer === issuer) return metadata;
    throw new DocumentError('refused', 'the document is not the metadata of the issuer');
  }
}

/** RFC 8414 §3.1: the issuer's path comes last. */
function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`;
}
