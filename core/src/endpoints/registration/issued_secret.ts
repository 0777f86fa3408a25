import type { ClientSecretRecord } from '../../protocol/records.ts';
import { newOpaque } from '../../tokens/opaque_token.ts';
import type { Context } from '../context.ts';
import type { ClientDocument } from './client_document.ts';

/** A secret as its client is shown it. */
export interface ShownSecret {
  readonly text: string;
  /** Seconds; absent if it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** The secrets of a client: what is stored, and the secret itself if it is new. */
export interface IssuedSecret {
  readonly stored: readonly ClientSecretRecord[];
  readonly shown?: ShownSecret;
}

/**
 * The secrets that a client with this metadata has (RFC 7591 §3.2.1): none if it authenticates in another way or not at
 * all, those that it has, or a new one.
 */
export async function secretFor(
  { clientSecrets, random }: Context,
  { token_endpoint_auth_method: method }: ClientDocument,
  stored?: readonly ClientSecretRecord[],
): Promise<IssuedSecret | undefined> {
  if (method === 'none' || method === 'private_key_jwt') return undefined;
  if (stored !== undefined) return { stored };
  const text = newOpaque('client_secret', random);
  return { stored: [await clientSecrets.hash(text)], shown: { text } };
}
