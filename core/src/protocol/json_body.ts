import { requireBodySize } from './form.ts';
import { type HttpRequest, mediaTypeOf } from './http.ts';
import { isJsonObject, type JsonObject, parseJson } from './json.ts';
import { OAuthError } from './oauth_error.ts';

/**
 * The JSON object in a request's body, also where the host has parsed it.
 * @throws {OAuthError} `invalid_request`: another media type, or no JSON object; with status 413: too large.
 */
export function readJsonObject(request: HttpRequest): JsonObject {
  requireBodySize(request);
  if (mediaTypeOf(request) !== 'application/json') {
    throw new OAuthError('invalid_request', 'the content type must be application/json', {
      reason: 'wrong_media_type',
    });
  }
  const value = typeof request.body === 'string' ? parseJson(request.body) : request.body;
  if (isJsonObject(value)) return value;
  throw new OAuthError('invalid_request', 'the body is no JSON object', { reason: 'body_unreadable' });
}
