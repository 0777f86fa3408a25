import { readForm, requireBodySize } from './form.ts';
import { type HttpRequest, headerValue } from './http.ts';
import { OAuthError } from './oauth_error.ts';

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
