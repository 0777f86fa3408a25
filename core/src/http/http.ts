/** Plain request and response values. Adapters convert them from and to the host’s types. */

/**
 * A form that the host has parsed. A parameter is a text, or an array of texts if it was repeated. Parsers create other
 * values from names such as `token[]` or `token[a]`. An endpoint that reads such a value refuses the request.
 */
export type ParsedForm = Readonly<Record<string, unknown>>;

// ADR 67
export interface HttpRequest {
  /** Upper case. */
  readonly method: string;
  /** Absolute URL, or path with query. Its host is never trusted. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Raw text, or the form that the host has parsed. Absent without a body. */
  readonly body?: string | ParsedForm | undefined;
  /** Request ID, which connects events with the host’s log. */
  readonly id?: string;
  /**
   * What limits count as one sender, such as `senderOf` of @grantd/core/node makes of an address. Never a header that the
   * sender could have chosen.
   */
  readonly place?: string | undefined;
  /** The client’s certificate, if it presented one in the TLS handshake (RFC 8705 §2). */
  readonly clientCertificate?: ClientCertificate | undefined;
}

/**
 * A certificate whose private key the client has proven to have, in the TLS handshake. Never make one from a header
 * that the client itself could have sent.
 */
export interface ClientCertificate {
  /** X.509 certificate in DER. */
  readonly der: Uint8Array;
  /**
   * Whether the TLS layer has verified the chain, up to a CA that the host trusts to name clients. Anyone can make a
   * certificate with any name, so `tls_client_auth` requires it (RFC 8705 §2.1).
   */
  readonly hasTrustedChain: boolean;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. An array becomes several header lines. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /**
   * Present if the body is a page that asks before the browser goes to an unchecked client (RFC 9700 §4.11.2). A host
   * may send the response as it is, or render its own page from this.
   */
  readonly leaving?: BrowserDelivery;
}

/** What the browser takes to a client, and where. */
export interface BrowserDelivery {
  readonly redirectTo: string;
  /**
   * Form fields for a POST to `redirectTo` (OAuth 2.0 Form Post Response Mode §2). Without them, `redirectTo` contains
   * everything.
   */
  readonly formPost?: Readonly<Record<string, string>> | undefined;
}

/** The value of a header. Several lines are joined (RFC 9110 §5.3). */
export function headerValue(request: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/** The media type of a request body, in lower case and without parameters; `undefined` if absent. */
export function mediaTypeOf(request: Pick<HttpRequest, 'headers'>): string | undefined {
  return headerValue(request, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase();
}

/** Scheme and authority of an absolute URL (RFC 3986 §3), without its path. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i;

/**
 * The path of a request’s URL, without query and exactly as sent. Resolving `..` here would bypass hosts that guard
 * paths.
 */
export function pathOf({ url }: Pick<HttpRequest, 'url'>): string {
  const target = url.replace(ORIGIN, '');
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path === '' && target !== url ? '/' : path;
}

/** The query of a request’s URL, without the question mark. */
export function queryOf({ url }: Pick<HttpRequest, 'url'>): string {
  const withoutFragment = url.split('#', 1)[0] ?? '';
  const start = withoutFragment.indexOf('?');
  return start === -1 ? '' : withoutFragment.slice(start + 1);
}

/** A JSON response with `Cache-Control: no-store` (RFC 6749 §5.1). */
export function jsonResponse(body: unknown, status = 200): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(body),
  };
}

/** Maximum bytes of a body. Larger ones get 413. */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * Maximum characters of parameter names and values in a browser request. Hosts may carry them, sealed, in page URLs.
 */
export const LONGEST_PARAMETERS = 6144;

/** Maximum characters of an access token. APIs refuse longer ones unread. */
export const LONGEST_ACCESS_TOKEN = 16 * 1024;

/** Maximum entries of a header that are read. */
const MAX_PREFERENCES = 50;

/** RFC 9110 §12.4.2: qvalue. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** A value from a header such as `Accept`, in lower case, with its weight from 0 (unwanted) to 1. */
export interface Preference {
  readonly value: string;
  readonly weight: number;
}

/**
 * The entries of `Accept` or `Accept-Language` in order, at most 50 (RFC 9110 §12.5). An invalid weight counts as 0.
 */
export function preferencesOf(header: string | undefined): readonly Preference[] {
  return header?.split(',', MAX_PREFERENCES).map(preferenceOf) ?? [];
}

/** The weight of a media type in an `Accept` header (RFC 9110 §12.5.1). Wildcards do not count. */
export function qualityOf(mediaType: string, accept: string | undefined): number {
  return preferencesOf(accept).find(({ value }) => value === mediaType)?.weight ?? 0;
}

function preferenceOf(entry: string): Preference {
  const [value = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length) ?? '1';
  return { value, weight: WEIGHT.test(weight) ? Number(weight) : 0 };
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is an object or an array, not `null`. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Whether a parsed JSON value is an object, not an array or `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Parses JSON from a text or UTF-8 bytes; `undefined` if it is not valid JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === 'string' ? json : UTF_8.decode(json));
  } catch {
    return undefined;
  }
}

/** Maximum nesting of application values. */
const MAX_DEPTH = 8;

/**
 * Copies a value that JSON and every store can represent exactly.
 * @returns `undefined` for other values: dates, class instances, NaN, nested `undefined`, NUL, lone surrogates, and a
 *   member `__proto__`, which becomes the prototype of an object that a reader assigns it to
 */
export function jsonCopy(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value === 'string') return isStorable(value) ? value : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth === 0) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => jsonCopy(item, depth - 1));
    return items.includes(undefined) ? undefined : items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const members = Object.entries(value).map(([name, member]) => [name, jsonCopy(member, depth - 1)] as const);
  const isPlain = members.every(
    ([name, member]) => isStorable(name) && name !== '__proto__' && member !== undefined,
  );
  return isPlain ? Object.fromEntries(members) : undefined;
}

/** Some databases cannot store NUL or lone surrogates. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** A Node request’s headers and connection, and whether its body has been read. */
export interface NodeHeaders {
  readonly headers: HttpRequest['headers'];
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[];
  readonly httpVersionMajor?: number;
  /** Whether the whole body has arrived. */
  readonly complete?: boolean;
  /** The connection. */
  readonly socket?: object;
}

/** A TLS connection of Node. */
interface TlsConnection {
  /** Whether the chain has been verified. */
  readonly authorized: boolean;
  /** Returns an empty object without a certificate, and `null` once the connection is closed. */
  getPeerCertificate(): { readonly raw?: Uint8Array } | null;
}

/**
 * Returns the certificate of a TLS connection that ends in this process, for the option `clientCertificate`. The TLS
 * server needs `requestCert: true`, and `ca`: the CA that may name clients. Without `ca`, Node trusts every public CA.
 * With `rejectUnauthorized: false` it also accepts certificates of others, which prove possession of their key alone.
 * See ADR 79.
 * @returns `undefined` without TLS or without a certificate
 */
export function tlsCertificateOf({
  socket = {},
}: Pick<NodeHeaders, 'socket'>): ClientCertificate | undefined {
  if (!('getPeerCertificate' in socket)) return undefined;
  const connection = socket as TlsConnection;
  const { raw: der } = connection.getPeerCertificate() ?? {};
  return der && { der, hasTrustedChain: connection.authorized };
}

/** Closes the connection after an unread body, because no further request can follow it. HTTP/2 does not need this. */
export function closingHeaders({
  headers,
  httpVersionMajor = 1,
  complete = false,
}: Omit<NodeHeaders, 'rawHeaders' | 'socket'>): Readonly<Record<string, string>> {
  if (httpVersionMajor > 1) return {};
  const isUnread = !complete && headers['transfer-encoding'] !== undefined;
  const isLeftUnread = isUnread || Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;
  return isLeftUnread ? { connection: 'close' } : {};
}

/**
 * Node keeps only the first of several Authorization lines. All of them are needed, so that the request can be refused.
 */
export function headersWithEveryAuthorization({ headers, rawHeaders }: NodeHeaders): HttpRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const isName = (at: number) => at % 2 === 0 && rawHeaders[at]?.toLowerCase() === 'authorization';
  const lines = rawHeaders.filter((_, at) => isName(at - 1));
  return lines.length > 1 ? { ...headers, authorization: lines } : headers;
}

// ── Fetch ────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A response for Fetch.
 * @param further additional headers; the response’s own headers take precedence
 */
export function fromHttpResponse(
  { status, headers, body }: HttpResponse,
  further: Readonly<Record<string, string>> = {},
): Response {
  const all = new Headers(further);
  all.delete('content-length');
  for (const [name, value] of Object.entries(headers)) {
    all.delete(name);
    for (const line of typeof value === 'string' ? [value] : value) all.append(name, line);
  }
  return new Response(body === '' ? null : body, { status, headers: all });
}

/** Deno passes only as many arguments as a function declares, and rest parameters do not count. */
export function takingTwo<Handler>(handler: Handler): Handler {
  return Object.defineProperty(handler, 'length', { value: 2 });
}
