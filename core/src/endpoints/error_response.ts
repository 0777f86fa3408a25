import type { HttpResponse } from '../protocol/http.ts';
import { OAuthError, StorageFault } from '../protocol/oauth_error.ts';
import { deliveryResponse } from './browser_delivery.ts';

/** Seconds that a client is asked to wait after a storage fault. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The response to whatever an operation threw. The one error handler that all adapters share.
 */
export function errorResponse(thrown: unknown): HttpResponse {
  const error = asOAuthError(thrown);
  const { redirectTo, formPost } = error;
  if (redirectTo !== undefined) return deliveryResponse({ redirectTo, formPost });
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...error.headers };
  const body = JSON.stringify({ error: error.code, error_description: error.description });
  return { status: error.status, headers, body };
}

/** A refusal stays what it is; a storage fault is 503, anything else 500, both without a word about why. */
export function asOAuthError(thrown: unknown): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  if (thrown instanceof StorageFault) {
    return new OAuthError('temporarily_unavailable', 'the server cannot answer at the moment', {
      reason: 'storage_unavailable',
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      cause: thrown.cause,
    });
  }
  return new OAuthError('server_error', 'an unexpected error', { reason: 'unexpected', cause: thrown });
}
