import type { ClientDocument } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import type { RegistrationPolicy } from './registration_policy.ts';

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

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
  return protocol === 'https:' && !LOOPBACK_NAMES.has(hostname) && !hostname.endsWith('.localhost');
}

/** A private-use scheme is a domain turned around, so that no two owners mean the same (RFC 8252 §7.1). */
function isNativeUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  if (protocol === 'http:') return LOOPBACK_NAMES.has(hostname);
  return protocol !== 'https:' && protocol.includes('.');
}
