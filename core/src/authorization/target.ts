import { untrusted, withoutSecrets } from '../clients/client.ts';
import { type Form, requireBearableLength } from '../http/form.ts';
import { isResponseMode, type ResponseMode } from '../protocol/authorization_parameters.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/records.ts';
import { isRegisteredRedirectUri } from '../protocol/redirect_uri.ts';

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

/** What the check of a request found, of what a client's registration decides where the request says nothing. */
interface Decided {
  readonly redirectUri: string;
  readonly redirectUriGiven: boolean;
  readonly scopes: readonly string[];
  readonly maxAge?: number;
  readonly acrValues: readonly string[];
  readonly resources?: readonly string[];
}

/** Says, by being there with no value, that `redirect_uri` is the only one that was registered. */
const REDIRECT_URI_OMITTED = 'redirect_uri_omitted';

/**
 * The parameters of a request as they are kept until it goes on: with what the registration decided written out, so that
 * a client that is registered anew meanwhile can get less of it, and never more or elsewhere. Requests have no empty
 * values (RFC 6749 §3.1); those in here are the server's own.
 * @throws {OAuthError} `invalid_request`: too long to be taken along
 */
export function keptParameters(parameters: Form, decided: Decided): Form {
  const { redirectUri, redirectUriGiven, scopes, maxAge, acrValues, resources } = decided;
  const kept = new Map([
    ['scope', formatScope(scopes)],
    ...(maxAge === undefined ? [] : [['max_age', String(maxAge)] as const]),
    ...(resources === undefined ? [] : [['resource', resources.join(' ')] as const]),
    ...(acrValues.length === 0 ? [] : [['acr_values', acrValues.join(' ')] as const]),
    ...parameters,
  ]);
  if (!redirectUriGiven) kept.set('redirect_uri', redirectUri).set(REDIRECT_URI_OMITTED, '');
  requireBearableLength(kept);
  return kept;
}

/** Whether the request itself named where it goes (RFC 6749 §4.1.3), rather than leaving it to the registration. */
function namesRedirectUri(parameters: Form): boolean {
  return parameters.has('redirect_uri') && parameters.get(REDIRECT_URI_OMITTED) !== '';
}
