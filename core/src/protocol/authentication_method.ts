import type { AuthenticationMethod } from './client_metadata.ts';
import type { ClientRecord } from './records.ts';

/** In which ways a client may authenticate: the registered one alone, or by its secret in either way, or not at all. */
export function authenticationMethodsOf(client: ClientRecord): readonly AuthenticationMethod[] {
  const registered = client.metadata?.token_endpoint_auth_method;
  if (registered !== undefined) return [registered];
  return client.secrets === undefined ? ['none'] : ['client_secret_basic', 'client_secret_post'];
}

/** Whether a client can keep a secret or a private key (RFC 6749 §2.1). All others are public. */
export function isConfidential(client: ClientRecord): boolean {
  return !authenticationMethodsOf(client).includes('none');
}
