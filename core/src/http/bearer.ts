import { OAuthError } from './errors.ts';
import { readForm, requireBodySize } from './form.ts';
import { type HttpRequest, headerValue } from './http.ts';

/** RFC 6750 §2.1: b64token. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The access token of a request: the header first, then the form body of a POST (RFC 6750 §2.1, §2.2).
 * A token in the query is not looked at.
 * @returns `undefined` where the request carries none.
 * @throws {OAuthError} `invalid_token`: an Authorization header that is not a well-formed Bearer one;
 *   `invalid_request`: a form that cannot be read.
 */
export function readBearerToken(request: HttpRequest): string | undefined {
  requireBodySize(request);
  const token = bearerOfHeader(request);
  if (token !== undefined || request.method !== 'POST') return token;

  return readForm(request).get('access_token');
}

/**
 * The bearer token in a request's header (RFC 6750 §2.1).
 * @returns `undefined` where there is no such header.
 * @throws {OAuthError} `invalid_token`: an Authorization header that is not a well-formed Bearer one
 */
export function bearerOfHeader(request: HttpRequest): string | undefined {
  const authorization = headerValue(request, 'authorization');
  if (authorization === undefined) return undefined;
  const token = bearerCredentials(authorization);
  if (token !== undefined) return token;
  throw new OAuthError('invalid_token', 'the Authorization header carries no bearer token', {
    reason: 'malformed',
  });
}

/** The token in the value of an Authorization header; `undefined` where it is not a well-formed Bearer one. */
export function bearerCredentials(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.[1];
}

/** One challenge of a `WWW-Authenticate` header (RFC 9110 §11.6.1). */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** A list, so that further schemes can join. */
export function formatChallenges(challenges: readonly Challenge[]): string {
  return challenges.map(formatChallenge).join(', ');
}

function formatChallenge({ scheme, parameters }: Challenge): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`],
  );
  return written.length === 0 ? scheme : `${scheme} ${written.join(', ')}`;
}

/** Challenges for a resource that takes bearer tokens (RFC 6750 §3). */
export function bearerChallenges(error: OAuthError, resource?: ChallengingResource): readonly Challenge[] {
  const { code, description, scope } = error;
  return [
    {
      scheme: 'Bearer',
      parameters: {
        realm: resource?.realm,
        error: code,
        error_description: description,
        scope,
        resource_metadata: resource?.resourceMetadata,
      },
    },
  ];
}

/** The challenge for a request without any credentials, which says nothing of an error (RFC 6750 §3.1). */
export function bareBearerChallenges({ realm, resourceMetadata }: ChallengingResource): readonly Challenge[] {
  return [{ scheme: 'Bearer', parameters: { realm, resource_metadata: resourceMetadata } }];
}

/** What a challenge says of the resource itself. */
export interface ChallengingResource {
  readonly realm: string;
  /** URL of the resource's own metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

/** Challenges for an endpoint that authenticates clients (RFC 6749 §5.2). */
export function clientChallenges(realm: string): readonly Challenge[] {
  return [{ scheme: 'Basic', parameters: { realm, charset: 'UTF-8' } }];
}
