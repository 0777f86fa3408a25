// Determines where an authorization response goes, and what is stored until then.
import { type ClientContext, untrusted, withoutSecrets } from '../clients/client.ts';
import { type Form, formatScope, requireShortParameters } from '../http/form.ts';
import { isResponseMode, type ResponseMode } from '../protocol/authorization_parameters.ts';
import { isUnsafeRedirectUri, profileOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isRegisteredRedirectUri } from '../protocol/redirect_uri.ts';
import type { Context } from '../request/context.ts';

/** What authorization needs from the server. */
export type AuthorizationContext = ClientContext &
  Pick<
    Context,
    | 'fetchDocument'
    | 'canFetch'
    | 'requestUriHosts'
    | 'requestObjectAlgorithms'
    | 'strictRequestObjects'
    | 'requirePushedAuthorizationRequests'
    | 'acrValues'
    | 'strictScopes'
  >;

/** The destination of an authorization response. */
export interface AuthorizationTarget {
  readonly client: Pick<ClientRecord, 'id' | 'registeredAt' | 'metadata' | 'idTokenAlgorithm'>;
  readonly redirectUri: string;
  readonly responseMode: ResponseMode;
  readonly state?: string;
  /** Whether the browser loads the response in a frame (Fetch Metadata, `Sec-Fetch-Dest`). */
  readonly isFramed?: true;
}

/**
 * Determines the destination, which is always a registered URI. The request may omit it if the client has only one and
 * the request does not use OpenID Connect (RFC 6749 §3.1.2.3), unless a profile requires it (FAPI 2.0 Security Profile
 * §5.3.2.2). A response mode that is unknown or not allowed is refused later, through one that is allowed.
 * @throws {OAuthError} without a redirect (RFC 6749 §3.1.2.4)
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
  if (isUnsafeRedirectUri(client, redirectUri))
    throw untrusted('the redirect_uri is not https', 'redirect_uri_exposed', {
      clientId: client.id,
      value: redirectUri,
    });
  return targetAt(client, form, redirectUri);
}

/** The destination of an early refusal, from the outer parameters; `undefined` if it is not certain. */
export function namedTarget(client: ClientRecord, form: Form): AuthorizationTarget | undefined {
  const redirectUri = form.has('redirect_uri') ? redirectUriOf(client, form) : undefined;
  if (redirectUri === undefined || isUnsafeRedirectUri(client, redirectUri)) return undefined;
  return targetAt(client, form, redirectUri);
}

function targetAt(client: ClientRecord, form: Form, redirectUri: string) {
  const state = form.get('state');
  return {
    client: withoutSecrets(client),
    redirectUri,
    redirectUriGiven: namesRedirectUri(form),
    responseMode: responseModeOf(client, form),
    ...(state !== undefined && { state }),
  };
}

/** The requested mode, or one in which the client can get the refusal. */
function responseModeOf({ metadata }: ClientRecord, form: Form): ResponseMode {
  const mode = form.get('response_mode') ?? 'query';
  const allowed = metadata?.response_modes;
  const isAllowed = isResponseMode(mode) && allowed?.includes(mode) !== false;
  return isAllowed ? mode : (allowed?.[0] ?? 'query');
}

function redirectUriOf(client: ClientRecord, form: Form): string | undefined {
  const requested = form.get('redirect_uri');
  if (requested !== undefined) {
    return isRegisteredRedirectUri(client, requested) ? requested : undefined;
  }
  if (profileOf(client)?.requiresSafeRedirectUri) return undefined;
  const [only, ...others] = client.redirectUris;
  const isOpenId = form.get('scope')?.split(' ').includes('openid') ?? false;
  return others.length === 0 && !isOpenId ? only : undefined;
}

/** Validated values that may come from the client’s registration. */
interface Decided {
  readonly redirectUri: string;
  readonly redirectUriGiven: boolean;
  readonly scopes: readonly string[];
  readonly maxAge?: number;
  readonly acrValues: readonly string[];
  readonly resources?: readonly string[];
}

/** Marks, with an empty value, that the request omitted `redirect_uri`. */
const REDIRECT_URI_OMITTED = 'redirect_uri_omitted';

/**
 * The parameters to store until the request continues. Registered defaults are written out, so that a changed
 * registration can never widen the request or redirect it. Empty values are the server’s own, because requests have
 * none (RFC 6749 §3.1).
 * @throws {OAuthError} `invalid_request`: the parameters are too long
 */
export function keptParameters(parameters: Form, decided: Decided): Form {
  const { redirectUri, redirectUriGiven, scopes, maxAge, acrValues, resources } = decided;
  const kept = new Map([
    ...(maxAge === undefined ? [] : [['max_age', String(maxAge)] as const]),
    ...(resources === undefined ? [] : [['resource', resources.join(' ')] as const]),
    ...(acrValues.length === 0 ? [] : [['acr_values', acrValues.join(' ')] as const]),
    ...parameters,
    // Also without those that were left out: an operator may allow them meanwhile.
    ['scope', formatScope(scopes)],
  ]);
  if (!redirectUriGiven) kept.set('redirect_uri', redirectUri).set(REDIRECT_URI_OMITTED, '');
  requireShortParameters(kept);
  return kept;
}

/** Whether the request contained `redirect_uri` (RFC 6749 §4.1.3). */
function namesRedirectUri(parameters: Form): boolean {
  return parameters.has('redirect_uri') && parameters.get(REDIRECT_URI_OMITTED) !== '';
}
