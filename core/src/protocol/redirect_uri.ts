// Compares and checks redirect URIs, and makes URLs of endpoints.
import { pathOf } from '../http/http.ts';

/** Hosts whose port may vary, because native applications listen on any free port (RFC 8252 §7.3). */
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]'];

interface RedirectedClient {
  readonly redirectUris: readonly string[];
  readonly metadata?: { readonly application_type?: 'web' | 'native' };
}

/**
 * Compares a requested URI with a registered one. They must be identical, except for the port of a loopback URI
 * (RFC 9700 §2.1, RFC 8252 §7.3; ADR 5).
 * @param isNative whether the client is a native application, for which `localhost` counts as a loopback host
 */
export function redirectUriMatches(registered: string, requested: string, isNative = false): boolean {
  if (registered === requested) return true;
  const withoutPort = loopbackWithoutPort(registered, isNative);
  return withoutPort !== undefined && withoutPort === loopbackWithoutPort(requested, isNative);
}

/** Whether the server may send the browser to this URI. */
export function isRegisteredRedirectUri(
  { redirectUris, metadata }: RedirectedClient,
  requested: string,
): boolean {
  const isNative = metadata?.application_type === 'native';
  return redirectUris.some((registered) => redirectUriMatches(registered, requested, isNative));
}

/**
 * URL parsers accept these as web URLs, but they are not (RFC 3986 §3). In a `Location` header, browsers would take
 * `https:a.example` for a path of this server.
 */
const MISSPELT_WEB_URI = /^https?:(?!\/\/[^/])|\\/i;

/**
 * Whether a URI can be registered: absolute, ASCII, without fragment, and not a scheme that browsers execute. Wildcards
 * are excluded because redirect URIs are compared exactly (RFC 9700 §2.1).
 */
export function isRegistrableRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || /[#*]/.test(uri) || !/^[\x21-\x7E]+$/.test(uri)) return false;
  if (MISSPELT_WEB_URI.test(uri)) return false;
  return !['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:'].includes(url.protocol);
}

/** Whether a network can read codes on their way to this URI: plain `http:` to another machine (RFC 9700 §2.6). */
export function isExposedRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isOwnMachine(url.hostname);
}

/** Returns the origin for CORS, or `undefined` for a private-use scheme. */
export function originOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.origin : undefined;
}

const OWN_IPV4 = /^(?:127|0)(?:\.\d{1,3}){3}$/;
const OWN_IPV6 = /^\[::(?:1|(?:ffff:)?(?:7f[\da-f]{2}|[\da-f]{1,2}):[\da-f]{1,4})?\]$/;

/**
 * Whether a host is the machine itself: `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8, 0.0.0.0/8, and ::1
 * and :: of IPv6, which may contain an IPv4 address.
 * @param hostname as the URL parser writes it: lower case, IPv4 with dots, IPv6 shortened and in brackets
 */
export function isOwnMachine(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return OWN_IPV4.test(host) || OWN_IPV6.test(host);
}

/** Appends parameters to the query of a redirect URI, after its own ones (RFC 6749 §3.1.2). */
export function withQuery(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`;
}

/** Turns `http://127.0.0.1:4001/cb` into `http://127.0.0.1/cb`, and leaves all else unchanged. */
function loopbackWithoutPort(uri: string, isNative: boolean): string | undefined {
  const url = URL.parse(uri);
  if (url?.protocol !== 'http:') return undefined;
  if (!LOOPBACK_HOSTS.includes(url.hostname) && !(isNative && url.hostname === 'localhost')) return undefined;
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/, '$1');
}

/** @param path begins with a slash */
export function endpointUrl(issuer: string, path: string): string {
  return issuer.replace(/\/$/, '') + path;
}

/** The same path at another origin. */
export function urlAt(origin: string, url: string): string {
  return origin + pathOf({ url });
}
