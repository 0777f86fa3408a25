import { isExposedRedirectUri, isOwnMachine } from '../../protocol/redirect_uri.ts';
import type { ClientDocument } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import type { RegistrationPolicy } from './registration_policy.ts';

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Redirect URIs that a client may register for itself, by the kind of application (OpenID Connect Dynamic Client
 * Registration §2, RFC 8252 §7, §8.4). An operator knows the client, but plain http to another machine needs a setting.
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
  if (policy.registrant === 'operator') {
    const isExposed = [...redirectUris, ...logoutUris].some(isExposedRedirectUri);
    if (!isExposed || document.insecure_redirect_uris === true) return;
    throw new ClientMetadataError(
      redirectUris.some(isExposedRedirectUri) ? 'redirect_uris' : 'post_logout_redirect_uris',
      'expected https, or http on loopback; insecure_redirect_uris allows plain http for development',
    );
  }
  const isNative = document.application_type === 'native';
  const isAllowed = (uri: string) =>
    isWebUri(uri, policy.allowInsecureUris) || (isNative && (isLoopbackUri(uri) || isPrivateUseUri(uri)));
  const problem = isNative
    ? 'expected https, http with a loopback host, or a private-use scheme with a period, for a native application'
    : 'expected https, and not localhost, for a web application; native applications send application_type native';
  if (!redirectUris.every(isAllowed))
    throw new ClientMetadataError('redirect_uris', problem, 'invalid_redirect_uri');
  if (!logoutUris.every(isAllowed)) throw new ClientMetadataError('post_logout_redirect_uris', problem);
}

/**
 * What a client that registers itself is when it does not say so: `native` when it listens on a loopback address, as MCP
 * clients do (RFC 8252 §7.3), otherwise `web` (OpenID Connect Dynamic Client Registration §2).
 */
export function usualApplicationType(
  { redirect_uris: redirectUris = [] }: ClientDocument,
  { allowInsecureUris }: Pick<RegistrationPolicy, 'allowInsecureUris'>,
): 'web' | 'native' {
  return redirectUris.some((uri) => isLoopbackUri(uri) && !isWebUri(uri, allowInsecureUris))
    ? 'native'
    : 'web';
}

/** A native application may claim an https URI as well (RFC 8252 §7.2). */
function isWebUri(uri: string, allowInsecureUris: boolean): boolean {
  const { protocol, hostname } = new URL(uri);
  if (allowInsecureUris) return protocol === 'https:' || protocol === 'http:';
  return protocol === 'https:' && !isOwnMachine(hostname);
}

function isLoopbackUri(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'http:' && LOOPBACK_NAMES.has(hostname);
}

/** A private-use scheme is a reversed domain name, so that no two owners share one (RFC 8252 §7.1). */
function isPrivateUseUri(uri: string): boolean {
  const { protocol } = new URL(uri);
  return protocol !== 'https:' && protocol !== 'http:' && protocol.includes('.');
}
