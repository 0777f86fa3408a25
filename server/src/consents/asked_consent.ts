import { type AuthorizationRequest, type ClientRecord, isConfidential } from '@grantd/core';
import type { AgreedWith, Consent } from './consents.ts';

/** What a request wants a person to agree to. */
export function askedBy({ scopes, resources = [], client }: AuthorizationRequest): AgreedWith {
  return { scopes, resources, clientGeneration: generationOf(client) };
}

/** Whether a consent is with the client as it is now. */
export function counts({ clientGeneration }: Consent, client: ClientRecord | undefined | null): boolean {
  return !!client && generationOf(client) === clientGeneration;
}

function generationOf({ generation = 0 }: Pick<ClientRecord, 'generation'>): number {
  return generation;
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
