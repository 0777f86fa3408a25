/** Plain values at the border: adapters translate them from and to what their host speaks. */

/** What the connection itself says about the caller, as far as the host knows it; the adapters fill in the address. */
export interface HttpConnection {
  /** Address of the peer, as text. */
  readonly remoteAddress?: string | undefined;
  /** The client's TLS certificate, PEM, where the host asked for one (RFC 8705). */
  readonly clientCertificate?: string;
}

/**
 * A form that the host has already parsed. A parameter is a text, one that was repeated an array of several. Anything
 * else is refused: parsers make it of names with brackets or dots (`token[]`, `token[a]`), which are no parameters.
 */
export type ParsedForm = Readonly<Record<string, unknown>>;

export interface HttpRequest {
  /** Upper case. */
  readonly method: string;
  /** Absolute URL, or path with query. Its host is never trusted. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Raw text, or the form that the host has parsed; absent where there was no body. */
  readonly body?: string | ParsedForm;
  readonly connection?: HttpConnection;
  /** Correlates events with the host's log. */
  readonly id?: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; several values are several header lines. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /**
   * Set when the body is a page that asks before the browser leaves for a client that nobody checked (RFC 9700
   * §4.11.2). A host may send the response as it is, or draw a page of its own from this.
   */
  readonly leaving?: BrowserDelivery;
}

/** What a browser takes to a client, and where. */
export interface BrowserDelivery {
  readonly redirectTo: string;
  /** What the browser posts there (OAuth 2.0 Form Post Response Mode §2); without it, `redirectTo` holds it all. */
  readonly formPost?: Readonly<Record<string, string>> | undefined;
}

/** The one value of a header; several lines are joined as RFC 9110 §5.3 does. */
export function headerValue(request: Pick<HttpRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/** The media type of a request's body, in lower case and without parameters; `undefined` where it has none. */
export function mediaTypeOf(request: Pick<HttpRequest, 'headers'>): string | undefined {
  return headerValue(request, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase();
}

/** Scheme and authority of an absolute URL (RFC 3986 §3), and nothing of its path. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i;

/**
 * The path of a request's URL, without query, as it is spelled: were `..` resolved here, a host that guards a path would
 * see another one.
 */
export function pathOf({ url }: Pick<HttpRequest, 'url'>): string {
  const target = url.replace(ORIGIN, '');
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path === '' && target !== url ? '/' : path;
}

/** The query of a request's URL, without its question mark. */
export function queryOf({ url }: Pick<HttpRequest, 'url'>): string {
  const withoutFragment = url.split('#', 1)[0] ?? '';
  const start = withoutFragment.indexOf('?');
  return start === -1 ? '' : withoutFragment.slice(start + 1);
}

/** A JSON response that no cache may keep (RFC 6749 §5.1). */
export function jsonResponse(body: unknown, status = 200): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(body),
  };
}

/** Bytes of a body; larger ones are refused with 413. */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * Characters of names and values of a request that people are asked about: a host may send them through addresses of
 * its pages, sealed.
 */
export const LONGEST_PARAMETERS = 6144;

/** Characters of an access token that an API looks at; longer ones are refused unread. */
export const LONGEST_ACCESS_TOKEN = 16 * 1024;

/** Entries of a header that are looked at. */
const MOST_PREFERENCES = 50;

/** RFC 9110 §12.4.2: qvalue. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** What a header such as `Accept` wants, in lower case, and how much: from 0, not at all, to 1. */
export interface Preference {
  readonly value: string;
  readonly weight: number;
}

/**
 * The entries of `Accept` or `Accept-Language`, in their order and at most 50 (RFC 9110 §12.5). What has a weight that is
 * none is not wanted.
 */
export function preferencesOf(header: string | undefined): readonly Preference[] {
  return header?.split(',', MOST_PREFERENCES).map(preferenceOf) ?? [];
}

/** How much an `Accept` header wants a media type that it names (RFC 9110 §12.5.1). Wildcards name nothing. */
export function qualityOf(mediaType: string, accept: string | undefined): number {
  return preferencesOf(accept).find(({ value }) => value === mediaType)?.weight ?? 0;
}

function preferenceOf(entry: string): Preference {
  const [value = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length) ?? '1';
  return { value, weight: WEIGHT.test(weight) ? Number(weight) : 0 };
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value that came as JSON is an object: neither a list nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** What a text, or its UTF-8 bytes, says as JSON; `undefined`, which JSON cannot say, where it is none. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === 'string' ? json : UTF_8.decode(json));
  } catch {
    return undefined;
  }
}

/** How deep a value may be that is taken from an application. */
const DEEPEST_VALUE = 8;

/**
 * A copy of a value that JSON can say exactly, and that every store keeps.
 * @returns `undefined` for any other: dates, instances of classes, NaN, `undefined` within, NUL, half characters
 */
export function jsonCopy(value: unknown, depth = DEEPEST_VALUE): unknown {
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
  const isPlain = members.every(([name, member]) => isStorable(name) && member !== undefined);
  return isPlain ? Object.fromEntries(members) : undefined;
}

/** There are databases that keep neither NUL nor half a character. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The headers of a request as Node has them, and how far it has been read. */
export interface NodeHeaders {
  readonly headers: HttpRequest['headers'];
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly httpVersionMajor?: number;
  /** Whether all of its body has arrived. */
  readonly complete?: boolean;
}

/** What an answer says of the connection: no request follows a body that was not read to its end, but in HTTP/2. */
export function closingHeaders({
  headers,
  httpVersionMajor = 1,
  complete = false,
}: Omit<NodeHeaders, 'rawHeaders'>): Readonly<Record<string, string>> {
  if (httpVersionMajor > 1) return {};
  const isUnread = !complete && headers['transfer-encoding'] !== undefined;
  const isLeftUnread = isUnread || Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES;
  return isLeftUnread ? { connection: 'close' } : {};
}

/** Node keeps the first of several Authorization lines alone; nobody may choose which of them counts. */
export function headersWithEveryAuthorization({ headers, rawHeaders }: NodeHeaders): HttpRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at], rawHeaders[at + 1]];
    if (name?.toLowerCase() === 'authorization' && value !== undefined) lines.push(value);
  }
  return lines.length > 1 ? { ...headers, authorization: lines } : headers;
}
