/** Hosts whose port may vary, for applications that listen on one of their own choice (RFC 8252 §7.3). */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]']);

/**
 * Whether the URI of a request is the registered one: the same text, but for the port of a loopback URI
 * (RFC 9700 §2.1, RFC 8252 §7.3).
 */
export function redirectUriMatches(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const registeredUrl = loopbackUrl(registered);
  const requestedUrl = loopbackUrl(requested);
  if (registeredUrl === undefined || requestedUrl === undefined) return false;
  return withoutPort(registered) === withoutPort(requested);
}

/** Whether a client may be answered at a URI. */
export function isRegisteredRedirectUri(
  { redirectUris }: { readonly redirectUris: readonly string[] },
  requested: string,
): boolean {
  return redirectUris.some((registered) => redirectUriMatches(registered, requested));
}

/** Whether a URI can be registered: absolute, ASCII, without fragment, and not one that a browser would run. */
export function isRegistrableRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || uri.includes('#') || !/^[\x21-\x7E]+$/.test(uri)) return false;
  return !['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:'].includes(url.protocol);
}

/** The web origin of a redirect URI, for CORS; `undefined` for a private-use scheme. */
export function originOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.origin : undefined;
}

/** A redirect URI with parameters in its query, behind those that were registered with it (RFC 6749 §3.1.2). */
export function withQuery(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`;
}

function loopbackUrl(uri: string): URL | undefined {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname) ? url : undefined;
}

/** `http://127.0.0.1:4001/cb` becomes `http://127.0.0.1/cb`, everything else to the letter. */
function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, '$1');
}
