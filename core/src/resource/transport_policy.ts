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
export function isAskable(url: string, { issuer, allowInsecureRequests }: TransportPolicy): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: '', hostname: '' };
  if (protocol === 'https:') return true;
  if (protocol !== 'http:') return false;
  return allowInsecureRequests || (LOOPBACK_HOSTS.has(hostname) && URL.parse(issuer)?.protocol === 'http:');
}
