/** Hosts whose port may vary, for applications that listen on one of their own choice (RFC 8252 §7.3). */
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]'];

/** The fields of a client's record that decide which redirect URIs are its own. */
interface RedirectedClient {
  readonly redirectUris: readonly string[];
  readonly metadata?: { readonly application_type?: 'web' | 'native' };
}

/**
 * Whether the URI of a request is the registered one: the same text, except for the port of a loopback URI
 * (RFC 9700 §2.1, RFC 8252 §7.3).
 * @param isNative whether the client is registered as native: then `localhost` counts as a loopback host
 */
export function redirectUriMatches(registered: string, requested: string, isNative = false): boolean {
  if (registered === requested) return true;
  const withoutPort = loopbackWithoutPort(registered, isNative);
  return withoutPort !== undefined && withoutPort === loopbackWithoutPort(requested, isNative);
}

/** Whether a client may be answered at a URI. */
export function isRegisteredRedirectUri(
  { redirectUris, metadata }: RedirectedClient,
  requested: string,
): boolean {
  const isNative = metadata?.application_type === 'native';
  return redirectUris.some((registered) => redirectUriMatches(registered, requested, isNative));
}

/**
 * What of the web is no URI (RFC 3986 §3), although parsers read a host in it: in an answer of this server a browser
 * takes `https:a.example` for a path of this server.
 */
const MISSPELT_WEB_URI = /^https?:(?!\/\/[^/])|\\/i;

/**
 * Whether a URI can be registered: absolute, ASCII, without fragment, and not one that a browser would run. Redirect URIs
 * are compared to the letter (RFC 9700 §2.1), so a wildcard would never match.
 */
export function isRegistrableRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || /[#*]/.test(uri) || !/^[\x21-\x7E]+$/.test(uri)) return false;
  if (MISSPELT_WEB_URI.test(uri)) return false;
  return !['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:'].includes(url.protocol);
}

/** Whether an authorization code could be read on its way to a URI: plain http to another machine (RFC 9700 §2.6). */
export function isExposedRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isOwnMachine(url.hostname);
}

/** The web origin of a redirect URI, for CORS; `undefined` for a private-use scheme. */
export function originOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.origin : undefined;
}

const OWN_IPV4 = /^(?:127|0)(?:\.\d{1,3}){3}$/;
const OWN_IPV6 = /^\[::(?:1|(?:ffff:)?(?:7f[\da-f]{2}|[\da-f]{1,2}):[\da-f]{1,4})?\]$/;

/**
 * Whether a host is the machine that asks for it, in any spelling: names below `localhost` (RFC 6761 §6.3),
 * 127.0.0.0/8, 0.0.0.0/8, and ::1 and :: of IPv6, which may carry an IPv4 address.
 * @param hostname as the URL parser writes it: lower case, IPv4 as four decimals, IPv6 in brackets and shortened
 */
export function isOwnMachine(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return OWN_IPV4.test(host) || OWN_IPV6.test(host);
}

/** A redirect URI with parameters in its query, behind those that were registered with it (RFC 6749 §3.1.2). */
export function withQuery(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`;
}

/** `http://127.0.0.1:4001/cb` as `http://127.0.0.1/cb`, everything else of it to the letter. */
function loopbackWithoutPort(uri: string, isNative: boolean): string | undefined {
  const url = URL.parse(uri);
  if (url?.protocol !== 'http:') return undefined;
  if (!LOOPBACK_HOSTS.includes(url.hostname) && !(isNative && url.hostname === 'localhost')) return undefined;
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/, '$1');
}

/** The URL of a path below the issuer; the path has a leading slash. */
export function endpointUrl(issuer: string, path: string): string {
  return issuer.replace(/\/$/, '') + path;
}
