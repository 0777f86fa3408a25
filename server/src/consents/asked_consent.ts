import {
  type AuthorizationClient,
  type AuthorizationRequest,
  type ClientRecord,
  isConfidential,
  isUnchecked,
} from '@grantd/core';
import { type Asked, type Consent, comparedWith } from './consents.ts';

/** What a request wants a person to agree to. */
export function askedBy({ scopes, resources = [], claims = {}, client }: AuthorizationRequest): Asked {
  const names = [claims.userinfo, claims.id_token].flatMap((of) => Object.keys(of ?? {}));
  const asked = [...new Set(names)].filter((name) => !ABOUT_THE_SIGN_IN.has(name)).sort();
  return { scopes, resources, claims: asked, ...asItIs(client) };
}

/** Claims that say who signed in, and how: every ID token has them, or may have them. */
const ABOUT_THE_SIGN_IN: ReadonlySet<string> = new Set(['sub', 'acr', 'amr', 'auth_time', 'sid']);

/** Whether the operator has exempted the client. One that registered itself can be another one at its next change. */
export function isExempt(client: AuthorizationClient): boolean {
  return client.metadata?.consent_required === false && !isUnchecked(client);
}

/** Whether a consent is with the client as it is now. */
export function counts(consent: Consent, client: AuthorizationClient | undefined | null): boolean {
  return !!client && comparedWith(consent, asItIs(client)) === 0;
}

function asItIs({ generation = 0, registrationRevision = 0, registeredAt }: AuthorizationClient) {
  return {
    clientGeneration: generation,
    clientRevision: registeredAt === undefined ? 0 : registrationRevision,
  };
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
