import { type AuthorizationRequest, type ClientRecord, isConfidential } from '@grantd/core';
import type { Agreed } from './consents.ts';

/** What a request wants a person to agree to. */
export function askedBy({ scopes, resources = [] }: AuthorizationRequest): Agreed {
  return { scopes, resources };
}

/**
 * Whether an answer at this redirect URI reaches nobody but the client, so that what was agreed with it before can be
 * taken for agreed again without asking (RFC 8252 §8.6, RFC 9700 §4.13). Any program on a person's machine can take a
 * scheme of its own, or listen on loopback, in the name of a public client. A client that is registered as a
 * `web` application on loopback is a page that somebody is developing.
 */
export function isReachedAlone(client: ClientRecord, redirectUri: string): boolean {
  const { protocol } = new URL(redirectUri);
  if (protocol === 'https:') return true;
  return isConfidential(client) || (protocol === 'http:' && client.metadata?.application_type === 'web');
}
