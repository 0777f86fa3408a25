import { type Form, requireBearableLength } from '../../../protocol/form.ts';
import { formatScope } from '../../../protocol/scope.ts';

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
export function namesRedirectUri(parameters: Form): boolean {
  return parameters.has('redirect_uri') && parameters.get(REDIRECT_URI_OMITTED) !== '';
}
