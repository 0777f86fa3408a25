import { newOpaque } from '../../tokens/opaque_token.ts';
import type { Context } from '../context.ts';
import type { ClientDocument } from './client_document.ts';

/** A client's secret: what is stored of it, and the secret itself where it is new. */
export interface ClientSecret {
  readonly hash: string;
  readonly toShow?: string;
}

/**
 * The secret that a client with this metadata has (RFC 7591 §3.2.1): none where it authenticates otherwise or not at
 * all, the one that it has, or a new one.
 */
export async function secretFor(
  { clientSecrets, random }: Context,
  { token_endpoint_auth_method: method }: ClientDocument,
  storedHash?: string,
): Promise<ClientSecret | undefined> {
  if (method === 'none' || method === 'private_key_jwt') return undefined;
  if (storedHash !== undefined) return { hash: storedHash };
  const toShow = newOpaque('client_secret', random);
  return { hash: await clientSecrets.hash(toShow), toShow };
}
