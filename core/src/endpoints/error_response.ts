import { DocumentError } from '../protocol/fetch_document.ts';
import type { HttpResponse } from '../protocol/http.ts';
import { OAuthError, StorageFault } from '../protocol/oauth_error.ts';
import type { RefusalReason } from '../protocol/reasons.ts';
import { refusalResponse } from '../protocol/refusal_response.ts';
import { deliveryResponse } from './browser_delivery.ts';

/**
 * The response to whatever an operation threw. The one error handler that all adapters share.
 */
export function errorResponse(thrown: unknown): HttpResponse {
  const error = asOAuthError(thrown);
  const { redirectTo, formPost } = error;
  if (redirectTo !== undefined) return deliveryResponse({ redirectTo, formPost });
  return refusalResponse(error);
}

/**
 * A refusal stays what it is; where storage or a client's document could not be asked it is 503, anything else 500, both
 * without a word about why.
 */
export function asOAuthError(thrown: unknown): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  if (thrown instanceof StorageFault) {
    return unavailable('storage_unavailable', thrown, thrown.cause);
  }
  if (thrown instanceof DocumentError && thrown.outcome === 'failed') {
    return unavailable('document_unavailable', thrown, thrown);
  }
  return new OAuthError('server_error', 'an unexpected error', { reason: 'unexpected', cause: thrown });
}

function unavailable(
  reason: RefusalReason,
  { headers }: StorageFault | DocumentError,
  cause: unknown,
): OAuthError {
  return new OAuthError('temporarily_unavailable', 'the server cannot answer at the moment', {
    reason,
    headers,
    cause,
  });
}
