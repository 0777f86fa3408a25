// Bearer tokens in requests, and challenges in responses.
import { OAuthError } from './errors.ts';
import { readForm, requireBodySize } from './form.ts';
import { type HttpRequest, headerValue } from './http.ts';

/** RFC 6750 §2.1: b64token. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The access token of a request: from the header, else from the form of a POST (RFC 6750 §2.1, §2.2). Tokens in the
 * query are ignored.
 * @returns `undefined` if the request has no token
 * @throws {OAuthError} `invalid_token`: the Authorization header is not a well-formed Bearer header; `invalid_request`:
 * the form is unreadable
 */
export function readBearerToken(request: HttpRequest): string | undefined {
  requireBodySize(request);
  const token = bearerOfHeader(request);
  if (token !== undefined || request.method !== 'POST') return token;

  return readForm(request).get('access_token');
}

/**
 * The bearer token in a request’s header (RFC 6750 §2.1).
 * @returns `undefined` without an Authorization header
 * @throws {OAuthError} `invalid_token`: the Authorization header is not a well-formed Bearer header
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

/** The token in an Authorization header; `undefined` if the header is not a well-formed Bearer header. */
export function bearerCredentials(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.[1];
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

/** Challenges of a resource that accepts bearer tokens (RFC 6750 §3). */
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

/** The challenge for a request without credentials, which contains no error (RFC 6750 §3.1). */
export function bareBearerChallenges({ realm, resourceMetadata }: ChallengingResource): readonly Challenge[] {
  return [{ scheme: 'Bearer', parameters: { realm, resource_metadata: resourceMetadata } }];
}

/** Describes the resource in a challenge. */
export interface ChallengingResource {
  readonly realm: string;
  /** URL of the resource's own metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

/** Challenges of an endpoint that authenticates clients (RFC 6749 §5.2). */
export function clientChallenges(realm: string): readonly Challenge[] {
  return [{ scheme: 'Basic', parameters: { realm, charset: 'UTF-8' } }];
}
