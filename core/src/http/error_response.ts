// Turns errors into responses. All adapters use it.
import { observe } from '../platform/environment.ts';
import { deliveryResponse } from './browser_delivery.ts';
import { OAuthError, type OAuthErrorDetails, StorageFault, unexpectedError } from './errors.ts';
import { DocumentError } from './fetch_document.ts';
import type { HttpResponse } from './http.ts';

/** The response to any error of an operation. All adapters use this handler (ADR 7). */
export function errorResponse(thrown: unknown): HttpResponse {
  const error = asOAuthError(thrown);
  const { redirectTo, formPost, asksBeforeLeaving } = error;
  if (redirectTo !== undefined) return deliveryResponse({ redirectTo, formPost }, asksBeforeLeaving);
  return refusalResponse(error);
}

/**
 * Converts an error: refusals stay as they are, an unavailable store or client document becomes 503, and anything else
 * 500. The response never says why.
 */
export function asOAuthError(thrown: unknown): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  if (thrown instanceof StorageFault) {
    const { reason, headers, cause } = thrown;
    return unavailable('the server cannot answer at the moment', { reason, headers, cause });
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
  return unexpectedError({ reason: 'unexpected', cause: thrown });
}

function unavailable(description: string, details: OAuthErrorDetails): OAuthError {
  return new OAuthError('temporarily_unavailable', description, details);
}

/** The JSON response of a refusal (RFC 6749 §5.2). */
export function refusalResponse(error: OAuthError): HttpResponse {
  const headers = { 'content-type': 'application/json', ...error.headers };
  const { code, description, acrValues, maxAge } = error;
  // A challenge has them already. JSON leaves out what is absent.
  const signIn = !('www-authenticate' in headers) && { acr_values: acrValues?.join(' '), max_age: maxAge };
  const body = JSON.stringify({ error: code, error_description: description, ...signIn });
  return { status: error.status, headers, body };
}

export type OnFault<Incoming, Rest extends readonly unknown[] = []> = (
  fault: unknown,
  request: Incoming,
  ...rest: Rest
) => void;

/** Prints a fault if the host has no handler. */
export function printFault(fault: unknown): void {
  console.error('grantd', fault);
}

/**
 * The response to an error of a request. An `OAuthError` has already been reported; anything else is a new fault for
 * `onFault`.
 */
export function rendered<Request extends readonly unknown[]>(
  thrown: unknown,
  onFault: ((fault: unknown, ...request: Request) => void) | undefined,
  ...request: Request
): HttpResponse {
  const report = (fault: unknown) => (onFault === undefined ? printFault(fault) : onFault(fault, ...request));
  if (!(thrown instanceof OAuthError)) observe('onFault', report, thrown);
  return errorResponse(thrown);
}
