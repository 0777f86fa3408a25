import type { ClientDocument } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import type { RegistrationPolicy } from './registration_policy.ts';

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const OWN_IPV4 = /^(?:127|0)(?:\.\d{1,3}){3}$/;
const OWN_IPV6 = /^\[::(?:1|(?:ffff:)?(?:7f[\da-f]{2}|[\da-f]{1,2}):[\da-f]{1,4})?\]$/;

/**
 * Where browsers may be sent to on behalf of a client that registers itself, by the kind of application
 * (OpenID Connect Dynamic Client Registration §2, RFC 8252 §7, §8.4). An operator knows what the client is.
 * @throws {ClientMetadataError}
 */
export function requireReturnUris(document: ClientDocument, policy: RegistrationPolicy): void {
  const { redirect_uris: redirectUris = [], post_logout_redirect_uris: logoutUris = [] } = document;
  const { grant_types: grantTypes = [] } = document;
  if (grantTypes.includes('authorization_code') && redirectUris.length === 0) {
    throw new ClientMetadataError(
      'redirect_uris',
      'expected at least one for the grant authorization_code',
      'invalid_redirect_uri',
    );
  }
  if (policy.registrant === 'operator') return;
  const isNative = document.application_type === 'native';
  const isAllowed = isNative ? isNativeUri : (uri: string) => isWebUri(uri, policy.allowInsecureUris);
  const problem = isNative
    ? 'expected http with a loopback host, or a private-use scheme with a period, for a native application'
    : 'expected https, and not localhost, for a web application';
  if (!redirectUris.every(isAllowed))
    throw new ClientMetadataError('redirect_uris', problem, 'invalid_redirect_uri');
  if (!logoutUris.every(isAllowed)) throw new ClientMetadataError('post_logout_redirect_uris', problem);
}

function isWebUri(uri: string, allowInsecureUris: boolean): boolean {
  const { protocol, hostname } = new URL(uri);
  if (allowInsecureUris) return protocol === 'https:' || protocol === 'http:';
  return protocol === 'https:' && !isOwnMachine(hostname);
}

/**
 * Whether a host is the machine of whoever asks for it, in any of the ways to write that: names below `localhost` (RFC
 * 6761 §6.3), 127.0.0.0/8, 0.0.0.0/8 and ::1, :: of IPv6, which may carry one of IPv4.
 * @param hostname as the URL parser writes it: lower case, IPv4 as four decimals, IPv6 in brackets and shortened
 */
function isOwnMachine(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return OWN_IPV4.test(host) || OWN_IPV6.test(host);
}

/** A private-use scheme is a domain turned around, so that no two owners mean the same (RFC 8252 §7.1). */
function isNativeUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  if (protocol === 'http:') return LOOPBACK_NAMES.has(hostname);
  return protocol !== 'https:' && protocol.includes('.');
}
