import { observe } from '../environment.ts';
import { deliveryResponse } from './browser_delivery.ts';
import { OAuthError, type OAuthErrorDetails, StorageFault } from './errors.ts';
import { DocumentError } from './fetch_document.ts';
import type { HttpResponse } from './http.ts';

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

/** A refusal as JSON (RFC 6749 §5.2). */
export function refusalResponse(error: OAuthError): HttpResponse {
  const headers = { 'content-type': 'application/json', ...error.headers };
  const body = JSON.stringify({ error: error.code, error_description: error.description });
  return { status: error.status, headers, body };
}

export type OnFault<Incoming, Rest extends readonly unknown[] = []> = (
  fault: unknown,
  request: Incoming,
  ...rest: Rest
) => void;

/** Tells whoever runs the process, where nobody else listens. */
export function printFault(fault: unknown): void {
  console.error('grantd', fault);
}

/**
 * The answer to what was thrown at a request. An `OAuthError` is an answer itself, and the server has told of its own;
 * anything else is a fault of which nobody knows yet.
 */
export function rendered<Request extends readonly unknown[]>(
  thrown: unknown,
  onFault: ((fault: unknown, ...request: Request) => void) | undefined,
  ...request: Request
): HttpResponse {
  const tell = (fault: unknown) => (onFault === undefined ? printFault(fault) : onFault(fault, ...request));
  if (!(thrown instanceof OAuthError)) observe('onFault', tell, thrown);
  return errorResponse(thrown);
}
