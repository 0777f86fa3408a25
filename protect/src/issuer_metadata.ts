import type { Clock } from '@grantd/core/internal/environment';
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
import { anyFunction, anyValue, type KindsOf, trueOrFalse } from '@grantd/core/internal/option_kinds';

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

/** The global `fetch`, or one that a host brings: with a proxy of its own, a client certificate, a service binding. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AskingOptions {
  /** Default: the runtime's own `fetch`. */
  readonly fetch?: Fetch;
  /** Milliseconds in which the authorization server has to have answered. Default: 5000. */
  readonly timeoutMs?: number;
  /**
   * Also asks by plain http beyond loopback, where everybody on the way reads tokens and credentials, and can put in
   * keys and answers: for development alone. Default: `false`.
   */
  readonly allowInsecureRequests?: boolean;
}

export const ASKING_OPTIONS: KindsOf<AskingOptions> = {
  fetch: anyFunction,
  timeoutMs: anyValue,
  allowInsecureRequests: trueOrFalse,
};

const LONGEST_TIMEOUT_MS = 60_000;

/** Asks the authorization server; of the answer's body all is read. */
export type Ask = (url: string, init?: RequestInit) => Promise<FetchedDocument>;

/**
 * Asks with limits on time and bytes. Redirects are not followed: tokens and credentials go where the operator said,
 * and nowhere else.
 * @throws {ConfigurationError} at once, where the time is none
 * @throws {DocumentError} there is no answer, none in time, or one that is too large
 */
export function guarded({
  fetch = (url, init) => globalThis.fetch(url, init),
  timeoutMs = DOCUMENT_LIMITS.timeoutMs,
}: AskingOptions): Ask {
  requireBetween('timeoutMs', timeoutMs, 1, LONGEST_TIMEOUT_MS);
  return (url, init) =>
    withinTime(timeoutMs, 'there was no answer', async (signal) => {
      const response = await fetch(url, { ...init, redirect: 'manual', signal });
      const contentType = response.headers.get('content-type') ?? undefined;
      const body = response.body === null ? '' : await readText(response.body);
      return { status: response.status, contentType, body };
    });
}

/** The same for what is fetched without credentials. */
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
 * @returns the issuer, and by which transport it may be asked
 * @throws {ConfigurationError} no URL without query and fragment (RFC 8414 §2), or one that may not be asked
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
  throw new ConfigurationError('issuer', 'the URL of the authorization server, of https or on loopback');
}

/**
 * @returns the same URL, in ASCII
 * @throws {ConfigurationError} the authorization server may not be asked there
 */
export function requireAskableUrl(option: string, url: string, policy: TransportPolicy): string {
  if (isAskable(url, policy)) return new URL(url).href;
  throw new ConfigurationError(option, 'a URL of https, or on loopback as the issuer');
}

/**
 * @returns the same URL, in ASCII
 * @throws {ConfigurationError} it is none of http or https
 */
export function requireUrl(option: string, url: string): string {
  const parsed = URL.parse(url);
  if (parsed !== null && /^https?:$/.test(parsed.protocol)) return parsed.href;
  throw new ConfigurationError(option, 'a URL of https or http');
}

/** @throws {ConfigurationError} none, or an empty one */
export function requireAudience(audience: string | readonly string[]): readonly string[] {
  const audiences = [audience].flat();
  if (audiences.length > 0 && audiences.every((one) => typeof one === 'string' && one !== ''))
    return audiences;
  throw new ConfigurationError('audience', 'what access tokens for this API name as their audience');
}

/** Seconds; more would make an expiry meaningless. */
const LONGEST_TOLERANCE = 300;

/** @throws {ConfigurationError} no seconds by which clocks may differ */
export function requireTolerance(clockTolerance = 0): number {
  return requireBetween('clockTolerance', clockTolerance, 0, LONGEST_TOLERANCE);
}

/** @throws {ConfigurationError} no number, or out of bounds */
export function requireBetween(option: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new ConfigurationError(option, `a number from ${least} to ${most}`);
}

/** How an authorization server may be asked. */
export interface TransportPolicy {
  readonly issuer: string;
  /** Also by http, wherever that leads. */
  readonly allowInsecureRequests: boolean;
}

/**
 * Hosts whose traffic stays on the machine. Unlike in redirect URIs the name is among them, as it is for browsers
 * (Secure Contexts §3.1): an issuer in development has it, and whoever can change what it means has the machine.
 */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether tokens and credentials may go to a URL, and keys be believed that come from there: by TLS (RFC 6749 §2.3.1,
 * RFC 7662 §4, RFC 8414 §2), or on loopback where the issuer is there too.
 */
function isAskable(url: string, { issuer, allowInsecureRequests }: TransportPolicy): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: '', hostname: '' };
  if (protocol === 'https:') return true;
  if (protocol !== 'http:') return false;
  return allowInsecureRequests || (LOOPBACK_HOSTS.has(hostname) && URL.parse(issuer)?.protocol === 'http:');
}
