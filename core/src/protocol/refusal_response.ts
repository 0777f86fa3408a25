import type { HttpResponse } from './http.ts';
import type { OAuthError } from './oauth_error.ts';

/** A refusal as JSON (RFC 6749 §5.2). */
export function refusalResponse(error: OAuthError): HttpResponse {
  const headers = { 'content-type': 'application/json', ...error.headers };
  const body = JSON.stringify({ error: error.code, error_description: error.description });
  return { status: error.status, headers, body };
}
