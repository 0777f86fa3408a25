import type { Form } from '../../protocol/form.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { isRegisteredRedirectUri } from '../../protocol/redirect_uri.ts';
import { isResponseMode, type ResponseMode } from '../../protocol/response_mode.ts';
import { untrusted, withoutSecrets } from '../named_client.ts';
import { namesRedirectUri } from './parameters/kept_parameters.ts';

/** Where the answer to an authorization request goes. */
export interface AuthorizationTarget {
  readonly client: Pick<ClientRecord, 'id' | 'registeredAt'>;
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  readonly state?: string;
  /** Whether the browser said that the answer is for a frame (Fetch Metadata, `Sec-Fetch-Dest`). */
  readonly isFramed?: true;
}

/**
 * Where the answer goes: exactly to a registered URI, which may be left out where there is only one and OpenID Connect
 * does not ask for it (RFC 6749 §3.1.2.3). A response mode that is none is refused later, by query.
 * @throws {OAuthError} the browser is sent nowhere (RFC 6749 §3.1.2.4)
 */
export function requireTarget(client: ClientRecord, form: Form) {
  const redirectUri = redirectUriOf(client, form);
  if (redirectUri === undefined && !form.has('redirect_uri'))
    throw untrusted('the parameter redirect_uri is missing', 'parameter_missing', { clientId: client.id });
  if (redirectUri === undefined)
    throw untrusted('the redirect_uri is not registered for this client', 'redirect_uri_mismatch', {
      clientId: client.id,
      value: form.get('redirect_uri'),
    });
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
    redirectUriGiven: namesRedirectUri(form),
    responseMode: isResponseMode(responseMode) ? responseMode : ('query' as const),
    ...(state !== undefined && { state }),
  };
}

function redirectUriOf(client: ClientRecord, form: Form): string | undefined {
  const requested = form.get('redirect_uri');
  if (requested !== undefined) {
    return isRegisteredRedirectUri(client, requested) ? requested : undefined;
  }
  const [only, ...others] = client.redirectUris;
  const isOpenId = form.get('scope')?.split(' ').includes('openid') ?? false;
  return others.length === 0 && !isOpenId ? only : undefined;
}
