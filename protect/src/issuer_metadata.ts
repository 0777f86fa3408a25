// Reads the authorization server's metadata, and sends the requests to it.

import { ConfigurationError } from '@grantd/core/internal/http/errors';
import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
  fetchBody,
  withinTime,
} from '@grantd/core/internal/http/fetch_document';
import { isJsonObject, type JsonObject, parseJson } from '@grantd/core/internal/http/http';
import type { Clock } from '@grantd/core/internal/platform/environment';
import {
  anyFunction,
  anyValue,
  type KindsOf,
  trueOrFalse,
} from '@grantd/core/internal/protocol/option_kinds';

/** Milliseconds after which metadata is fetched again. If that fails, the old metadata stays in use. */
const METADATA_LIFETIME_MS = 60 * 60 * 1000;

/** Milliseconds between two attempts, also after a failure. */
const RETRY_AFTER_MS = 10 * 1000;

/** The endpoints of an issuer, from its metadata (RFC 8414). */
export class IssuerMetadata {
  readonly #policy: TransportPolicy;
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  #metadata: JsonObject | undefined;
  #error: unknown;
  /** Milliseconds since 1970 of the last attempt, whether it succeeded or not. */
  #askedAtMs = -Infinity;
  #fetching: Promise<JsonObject> | undefined;

  constructor(services: {
    readonly policy: TransportPolicy;
    readonly fetchDocument: FetchDocument;
    readonly clock: Clock;
  }) {
    this.#policy = services.policy;
    this.#fetchDocument = services.fetchDocument;
    this.#clock = services.clock;
  }

  /**
   * Returns a URL of the metadata. Concurrent callers share one request.
   * @throws {DocumentError} the metadata is unavailable, belongs to another issuer, or has no such URL with https
   */
  async url(name: 'jwks_uri' | 'introspection_endpoint'): Promise<string> {
    const { [name]: url } = await this.#current();
    if (typeof url === 'string' && isAskable(url, this.#policy)) return url;
    throw new DocumentError('refused', `the metadata of the issuer has no ${name} with https`);
  }

  async #current(): Promise<JsonObject> {
    const ageMs = this.#clock() - this.#askedAtMs;
    if (this.#metadata !== undefined && ageMs < METADATA_LIFETIME_MS) return this.#metadata;
    if (this.#fetching !== undefined) return this.#fetching;
    if (ageMs < RETRY_AFTER_MS && this.#error !== undefined) throw this.#error;
    this.#askedAtMs = this.#clock();
    this.#fetching = this.#fetch();
    try {
      this.#metadata = await this.#fetching;
      this.#error = undefined;
      return this.#metadata;
    } catch (error) {
      this.#error = error;
      if (this.#metadata !== undefined) return this.#metadata;
      throw error;
    } finally {
      this.#fetching = undefined;
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

/** The issuer's path goes to the end (RFC 8414 §3.1). */
function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`;
}

/** The global `fetch`, or your own, for example with a proxy, a client certificate or a service binding. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RequestOptions {
  /** Sends the requests. Default: the runtime's `fetch`. */
  readonly fetch?: Fetch;
  /** Milliseconds within which the authorization server must respond, from 1 to 60000. Default: 5000. */
  readonly timeoutMs?: number;
  /**
   * For development only. Allows plain http beyond loopback, where the network can read tokens and credentials, and
   * replace keys and responses. Default: `false`.
   */
  readonly allowInsecureRequests?: boolean;
}

export const REQUEST_OPTIONS: KindsOf<RequestOptions> = {
  fetch: anyFunction,
  timeoutMs: anyValue,
  allowInsecureRequests: trueOrFalse,
};

const MAX_TIMEOUT_MS = 60_000;

/** Sends a request and reads the whole response. */
export type Ask = (url: string, init?: RequestInit) => Promise<FetchedDocument>;

/**
 * Returns a function that sends requests with limits for time and size. It does not follow redirects, because tokens
 * and credentials must reach only the configured server.
 * @throws {ConfigurationError} at once: `timeoutMs` is out of bounds
 * @throws {DocumentError} when called: no response, not in time, or too large
 */
export function guarded({
  fetch = (url, init) => globalThis.fetch(url, init),
  timeoutMs = DOCUMENT_LIMITS.timeoutMs,
}: RequestOptions): Ask {
  requireBetween('timeoutMs', timeoutMs, 1, MAX_TIMEOUT_MS);
  return (url, init) =>
    withinTime(timeoutMs, 'there was no answer', async (signal) => {
      const response = await fetch(url, { ...init, redirect: 'manual', signal });
      const contentType = response.headers.get('content-type') ?? undefined;
      const body = response.body === null ? '' : await readText(response.body);
      return { status: response.status, contentType, body };
    });
}

/** Adapts `Ask` for documents that need no credentials. */
export function documentsBy(ask: Ask): FetchDocument {
  return (url, { headers } = {}) => ask(url, headers === undefined ? {} : { headers });
}

async function readText(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > DOCUMENT_LIMITS.bytes) throw new DocumentError('refused', 'the response is too large');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Checks the issuer.
 * @throws {ConfigurationError} not a URL, with query or fragment (RFC 8414 §2), or with a transport that is not allowed
 */
export function requireIssuer({
  issuer,
  allowInsecureRequests = false,
}: {
  readonly issuer: string;
  readonly allowInsecureRequests?: boolean | undefined;
}): TransportPolicy {
  const policy = { issuer, allowInsecureRequests };
  if (URL.canParse(issuer) && !/[?#]/.test(issuer) && isAskable(issuer, policy)) return policy;
  throw new ConfigurationError(
    'issuer',
    'an https URL, or an http URL on loopback, without query and fragment',
  );
}

/**
 * @returns the URL in ASCII
 * @throws {ConfigurationError} the URL's transport is not allowed
 */
export function requireRequestUrl(option: string, url: string, policy: TransportPolicy): string {
  if (isAskable(url, policy)) return new URL(url).href;
  throw new ConfigurationError(option, 'an https URL, or an http URL on loopback if the issuer has one too');
}

/**
 * @returns the URL in ASCII
 * @throws {ConfigurationError} not an http or https URL
 */
export function requireUrl(option: string, url: string): string {
  const parsed = URL.parse(url);
  if (parsed !== null && /^https?:$/.test(parsed.protocol)) return parsed.href;
  throw new ConfigurationError(option, 'an http or https URL');
}

/** @throws {ConfigurationError} an algorithm that is not supported, or none */
export function requireAlgorithms<Algorithm extends string>(
  option: string,
  algorithms: readonly Algorithm[],
  supported: readonly Algorithm[],
): readonly Algorithm[] {
  if (algorithms.length > 0 && algorithms.every((algorithm) => supported.includes(algorithm)))
    return algorithms;
  throw new ConfigurationError(option, `some of ${supported.join(', ')}`);
}

/** @throws {ConfigurationError} no audience, or an empty one */
export function requireAudience(audience: string | readonly string[]): readonly string[] {
  const audiences = [audience].flat();
  if (audiences.length > 0 && audiences.every((audience) => typeof audience === 'string' && audience !== ''))
    return audiences;
  throw new ConfigurationError('audience', 'one or more audiences, none empty');
}

/** Seconds. With more, expiry would lose its meaning. */
const MAX_TOLERANCE_SECONDS = 300;

/** @throws {ConfigurationError} not a number of seconds, or out of bounds */
export function requireTolerance(clockTolerance = 0): number {
  return requireBetween('clockTolerance', clockTolerance, 0, MAX_TOLERANCE_SECONDS);
}

/** @throws {ConfigurationError} not a number, or out of bounds */
export function requireBetween(option: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new ConfigurationError(option, `a number from ${least} to ${most}`);
}

/** Which URLs of the authorization server are allowed. */
export interface TransportPolicy {
  readonly issuer: string;
  /** Allows http everywhere. */
  readonly allowInsecureRequests: boolean;
}

/**
 * Hosts whose traffic stays on the machine. Unlike in redirect URIs, `localhost` counts, as it does for browsers
 * (Secure Contexts §3.1): issuers use it in development, and only an attacker who controls the machine can redirect it.
 */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a URL is safe for tokens, credentials and keys: with TLS (RFC 6749 §2.3.1, RFC 7662 §4, RFC 8414 §2), or on
 * loopback if the issuer uses http too.
 */
function isAskable(url: string, { issuer, allowInsecureRequests }: TransportPolicy): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: '', hostname: '' };
  if (protocol === 'https:') return true;
  if (protocol !== 'http:') return false;
  return allowInsecureRequests || (LOOPBACK_HOSTS.has(hostname) && URL.parse(issuer)?.protocol === 'http:');
}
