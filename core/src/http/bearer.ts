// Access tokens in requests, and challenges in responses.
import { OAuthError } from './errors.ts';
import { readForm, requireBodySize } from './form.ts';
import { type HttpRequest, headerValue } from './http.ts';

/** How a token is presented: alone (RFC 6750 §2), or with a proof that its sender has the key (RFC 9449 §7.1). */
export type TokenScheme = 'Bearer' | 'DPoP';

/** An access token in a request. */
export interface TokenCredentials {
  readonly token: string;
  readonly scheme: TokenScheme;
}

/** RFC 6750 §2.1: b64token. RFC 9449 §7.1 has the same form. */
const CREDENTIALS = /^(?:bearer|(dpop)) +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The access token of a request: from the header, else from the form of a POST (RFC 6750 §2.1, §2.2). Tokens in the
 * query are ignored.
 * @param acceptsDpop whether the header may have the scheme DPoP
 * @returns `undefined` if the request has no token
 * @throws {OAuthError} `invalid_token`: the Authorization header is not well-formed; `invalid_request`: the form is
 * unreadable
 */
export function readAccessToken(request: HttpRequest, acceptsDpop = false): TokenCredentials | undefined {
  requireBodySize(request);
  const credentials = accessTokenOfHeader(request, acceptsDpop);
  if (credentials !== undefined || request.method !== 'POST') return credentials;

  const token = readForm(request).get('access_token');
  return token === undefined ? undefined : { token, scheme: 'Bearer' };
}

/**
 * The bearer token in a request’s header (RFC 6750 §2.1).
 * @returns `undefined` without an Authorization header
 * @throws {OAuthError} `invalid_token`: the Authorization header is not a well-formed Bearer header
 */
export function bearerOfHeader(request: HttpRequest): string | undefined {
  return accessTokenOfHeader(request, false)?.token;
}

function accessTokenOfHeader(request: HttpRequest, acceptsDpop: boolean): TokenCredentials | undefined {
  const authorization = headerValue(request, 'authorization');
  if (authorization === undefined) return undefined;
  const credentials = tokenCredentials(authorization);
  if (credentials?.scheme === 'Bearer' || (acceptsDpop && credentials !== undefined)) return credentials;
  throw new OAuthError('invalid_token', 'the Authorization header carries no bearer token', {
    reason: 'malformed',
  });
}

/** The token in an Authorization header; `undefined` if the header is not well-formed. */
export function tokenCredentials(authorization: string): TokenCredentials | undefined {
  const [, dpop, token] = CREDENTIALS.exec(authorization) ?? [];
  return token === undefined ? undefined : { token, scheme: dpop === undefined ? 'Bearer' : 'DPoP' };
}

/** The scheme of an Authorization header, well-formed or not. */
export function schemeOf(authorization: string | undefined): TokenScheme | undefined {
  const [scheme] = /^(?:bearer|dpop)(?= |$)/i.exec(authorization ?? '') ?? [];
  if (scheme === undefined) return undefined;
  return scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer';
}

/** One challenge of a `WWW-Authenticate` header (RFC 9110 §11.6.1). */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** Formats challenges of one or more schemes. */
export function formatChallenges(challenges: readonly Challenge[]): string {
  return challenges.map(formatChallenge).join(', ');
}

function formatChallenge({ scheme, parameters }: Challenge): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`],
  );
  return written.length === 0 ? scheme : `${scheme} ${written.join(', ')}`;
}

/** Challenges of a resource that accepts bearer tokens (RFC 6750 §3, RFC 9470 §3). */
export function bearerChallenges(error: OAuthError, resource?: ChallengingResource): readonly Challenge[] {
  return [{ scheme: 'Bearer', parameters: refusalParameters(error, resource) }];
}

/**
 * Challenges of a resource that also accepts tokens that are bound to a key (RFC 9449 §7.1, §7.2). The scheme that the
 * request used comes first, with the error.
 * @param algorithms `alg` values of proofs
 */
export function dpopChallenges(
  error: OAuthError,
  used: TokenScheme,
  algorithms: readonly string[],
  resource?: ChallengingResource,
): readonly Challenge[] {
  const algs = algorithms.join(' ');
  const bare = resource === undefined ? {} : resourceParameters(resource);
  if (used === 'Bearer')
    return [...bearerChallenges(error, resource), { scheme: 'DPoP', parameters: { ...bare, algs } }];
  return [
    { scheme: 'DPoP', parameters: { ...refusalParameters(error, resource), algs } },
    { scheme: 'Bearer', parameters: bare },
  ];
}

function refusalParameters(
  { code, description, scope, acrValues, maxAge }: OAuthError,
  resource: ChallengingResource | undefined,
): Challenge['parameters'] {
  return {
    realm: resource?.realm,
    error: code,
    error_description: description,
    scope: scope ?? resource?.scope,
    acr_values: acrValues?.join(' '),
    max_age: maxAge?.toString(),
    resource_metadata: resource?.resourceMetadata,
  };
}

/**
 * Challenges for a request without credentials, which contain no error (RFC 6750 §3.1, RFC 9449 §7.2).
 * @param algorithms `alg` values of DPoP proofs; empty if tokens are never bound to a key
 */
export function bareChallenges(
  resource: ChallengingResource,
  algorithms: readonly string[],
): readonly Challenge[] {
  const parameters = resourceParameters(resource);
  const bearer = { scheme: 'Bearer', parameters };
  if (algorithms.length === 0) return [bearer];
  return [bearer, { scheme: 'DPoP', parameters: { ...parameters, algs: algorithms.join(' ') } }];
}

function resourceParameters({
  realm,
  scope,
  resourceMetadata: resource_metadata,
}: ChallengingResource): Challenge['parameters'] {
  return { realm, scope, resource_metadata };
}

/** Describes the resource in a challenge. */
export interface ChallengingResource {
  readonly realm: string;
  /** All scopes that a token needs (RFC 6750 §3). */
  readonly scope?: string | undefined;
  /** URL of the resource's own metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

/** Challenges of an endpoint that authenticates clients (RFC 6749 §5.2). */
export function clientChallenges(realm: string): readonly Challenge[] {
  return [{ scheme: 'Basic', parameters: { realm, charset: 'UTF-8' } }];
}
