import type { Form } from '../../protocol/form.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { redirectUriMatches } from '../../protocol/redirect_uri.ts';
import { isResponseMode, type ResponseMode } from '../../protocol/response_mode.ts';
import type { Context } from '../context.ts';

/** A client without what proves that it is one. */
export type AuthorizationClient = Omit<ClientRecord, 'secretHash' | 'registrationTokenDigest'>;

/** Where the answer to an authorization request goes. */
export interface AuthorizationTarget {
  readonly client: Pick<ClientRecord, 'id'>;
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  readonly state?: string;
}

/** @throws {OAuthError} there is no such client, or it is disabled: the browser is sent nowhere (RFC 6749 §4.1.2.1) */
export async function requireClient({ storage }: Context, clientId: string): Promise<ClientRecord> {
  const client = /^[\x20-\x7E]+$/.test(clientId) ? await storage.clients.get(clientId) : undefined;
  if (!client) throw untrusted('the client is unknown', 'client_unknown');
  if (client.disabledAtMs !== undefined) throw untrusted('the client is disabled', 'client_disabled');
  return client;
}

/**
 * Where the answer goes: exactly to a registered URI, which may be left out where there is only one and OpenID Connect
 * does not ask for it (RFC 6749 §3.1.2.3). A response mode that is none is refused later, by query.
 * @throws {OAuthError} the browser is sent nowhere (RFC 6749 §3.1.2.4)
 */
export function requireTarget(client: ClientRecord, form: Form) {
  const redirectUri = redirectUriOf(client, form);
  if (redirectUri === undefined)
    throw untrusted('the redirect_uri is not registered for this client', 'redirect_uri_mismatch');
  return targetAt(client, form, redirectUri);
}

/** Where a refusal goes while nothing but the outermost parameters is known; `undefined` where that is not certain. */
export function namedTarget(client: ClientRecord, form: Form): AuthorizationTarget | undefined {
  const redirectUri = form.has('redirect_uri') ? redirectUriOf(client, form) : undefined;
  return redirectUri === undefined ? undefined : targetAt(client, form, redirectUri);
}

function targetAt(client: ClientRecord, form: Form, redirectUri: string) {
  const state = form.get('state');
  const responseMode = form.get('response_mode') ?? 'query';
  return {
    client: withoutSecrets(client),
    redirectUri,
    redirectUriGiven: form.has('redirect_uri'),
    responseMode: isResponseMode(responseMode) ? responseMode : ('query' as const),
    ...(state !== undefined && { state }),
  };
}

function redirectUriOf(client: ClientRecord, form: Form): string | undefined {
  const requested = form.get('redirect_uri');
  if (requested !== undefined) {
    const isRegistered = client.redirectUris.some((uri) => redirectUriMatches(uri, requested));
    return isRegistered ? requested : undefined;
  }
  const [only, ...others] = client.redirectUris;
  const isOpenId = form.get('scope')?.split(' ').includes('openid') ?? false;
  return others.length === 0 && !isOpenId ? only : undefined;
}

export function withoutSecrets(client: ClientRecord): AuthorizationClient {
  const { secretHash: _, registrationTokenDigest: __, ...known } = client;
  return known;
}

/** No redirect: the browser must not be sent where the client did not register (RFC 6749 §3.1.2.4). */
function untrusted(description: string, reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request', description, { reason });
}
