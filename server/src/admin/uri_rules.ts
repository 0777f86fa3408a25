// What redirect URIs of clients must be, if an operator registers them. Core has the rules for everyone.

/** What URIs must be to which the server sends the browser. */
export const URI_RULES = {
  uri_absolute: { words: 'https:// or http:// before the host' },
  uri_characters: { words: 'no spaces, and only ASCII characters' },
  uri_exact: { words: 'no fragment (#) and no wildcard (*)' },
  uri_credentials: { words: 'no username and no password in the URI' },
  uri_web: {
    words:
      'https or http for a web application. Only native applications (application_type) have schemes of their own',
  },
  uri_private: {
    words:
      'https, http or a scheme with a period, such as com.example.app (RFC 8252 section 7.1). Only native applications (application_type) may have others',
  },
} as const satisfies Readonly<Record<string, { readonly words: string }>>;

export type UriRule = keyof typeof URI_RULES;

/** A host with a port, which URL parsers take for a scheme, or a web URL without its slashes. */
const WITHOUT_SCHEME = /^[^/?#:]+:\d+(?:[/?#]|$)|^https?:(?!\/\/[^/])|\\/i;

/**
 * The rule that a redirect URI breaks. Web applications return to https or http only. A private-use scheme has a period,
 * so that two owners never share one (RFC 8252 §7.1), unless the operator says that the application is native.
 */
export function brokenRule(uri: string, members: Readonly<Record<string, unknown>>): UriRule | undefined {
  const { application_type: type } = members;
  const url = URL.parse(uri);
  if (!/^[\x21-\x7E]+$/.test(uri)) return 'uri_characters';
  if (url === null || WITHOUT_SCHEME.test(uri)) return 'uri_absolute';
  if (/[#*]/.test(uri)) return 'uri_exact';
  if (url.username !== '' || url.password !== '') return 'uri_credentials';
  if (url.protocol === 'https:' || url.protocol === 'http:') return undefined;
  if (type === 'web') return 'uri_web';
  return url.protocol.includes('.') || type === 'native' ? undefined : 'uri_private';
}
