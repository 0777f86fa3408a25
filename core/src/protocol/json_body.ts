import { requireBodySize } from './form.ts';
import { type HttpRequest, mediaTypeOf } from './http.ts';
import { OAuthError } from './oauth_error.ts';

/**
 * The JSON object in a request's body, also where the host has parsed it.
 * @throws {OAuthError} `invalid_request`: another media type, or no JSON object; with status 413: too large.
 */
export function readJsonObject(request: HttpRequest): Readonly<Record<string, unknown>> {
  requireBodySize(request);
  if (mediaTypeOf(request) !== 'application/json') {
    throw new OAuthError('invalid_request', 'the content type must be application/json', {
      reason: 'wrong_media_type',
    });
  }
  const value = typeof request.body === 'string' ? parsed(request.body) : request.body;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new OAuthError('invalid_request', 'the body is no JSON object', { reason: 'body_unreadable' });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
