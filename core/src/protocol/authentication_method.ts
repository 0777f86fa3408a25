import type { AuthenticationMethod } from './client_metadata.ts';
import type { ClientRecord } from './records.ts';

/** In which ways a client may authenticate: the registered one alone, or by its secret in either way, or not at all. */
export function authenticationMethodsOf(client: ClientRecord): readonly AuthenticationMethod[] {
  const registered = client.metadata?.token_endpoint_auth_method;
  if (registered !== undefined) return [registered];
  return client.secrets === undefined ? ['none'] : ['client_secret_basic', 'client_secret_post'];
}

/**
 * Whether a client may leave out PKCE: a confidential one that the operator has exempted. Nothing else protects the codes
 * of a public client (RFC 9700 §2.1.1).
 */
export function mayOmitPkce(client: ClientRecord): boolean {
  return isConfidential(client) && client.metadata?.insecure_allow_missing_pkce === true;
}

/** Whether a client can keep a secret or a private key (RFC 6749 §2.1). All others are public. */
export function isConfidential(client: ClientRecord): boolean {
  return !authenticationMethodsOf(client).includes('none');
}
