import { DocumentError } from '../protocol/fetch_document.ts';
import type { HttpResponse } from '../protocol/http.ts';
import { OAuthError, type OAuthErrorDetails, StorageFault } from '../protocol/oauth_error.ts';
import { refusalResponse } from '../protocol/refusal_response.ts';
import { deliveryResponse } from './browser_delivery.ts';

/**
 * The response to whatever an operation threw. The one error handler that all adapters share.
 */
export function errorResponse(thrown: unknown): HttpResponse {
  const error = asOAuthError(thrown);
  const { redirectTo, formPost, asksBeforeLeaving } = error;
  if (redirectTo !== undefined) return deliveryResponse({ redirectTo, formPost }, asksBeforeLeaving);
  return refusalResponse(error);
}

/**
 * A refusal stays what it is; where storage or a client's document could not be asked it is 503, anything else 500, both
 * without a word about why.
 */
export function asOAuthError(thrown: unknown): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  if (thrown instanceof StorageFault) {
    const { headers, cause } = thrown;
    return unavailable('the server cannot answer at the moment', {
      reason: 'storage_unavailable',
      headers,
      cause,
    });
  }
  if (thrown instanceof DocumentError && thrown.outcome === 'failed') {
    const { headers, clientId } = thrown;
    return unavailable('a document of the client cannot be fetched at the moment', {
      reason: 'document_unavailable',
      headers,
      clientId,
      cause: thrown,
    });
  }
  return new OAuthError('server_error', 'an unexpected error', { reason: 'unexpected', cause: thrown });
}

function unavailable(description: string, details: OAuthErrorDetails): OAuthError {
  return new OAuthError('temporarily_unavailable', description, details);
}
