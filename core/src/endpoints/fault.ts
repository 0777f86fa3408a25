import type { HttpResponse } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import { observe } from '../protocol/observe.ts';
import { errorResponse } from './error_response.ts';

export type OnFault<Incoming> = (fault: unknown, request: Incoming) => void;

/** Tells whoever runs the process, where nobody else listens. */
export function printFault(fault: unknown): void {
  console.error('grantd', fault);
}

/**
 * The answer to what was thrown at a request. An `OAuthError` is an answer itself, and the server has told of its own;
 * anything else is a fault of which nobody knows yet.
 */
export function rendered<Incoming>(
  thrown: unknown,
  request: Incoming,
  onFault: OnFault<Incoming> = printFault,
): HttpResponse {
  if (!(thrown instanceof OAuthError)) observe('onFault', (fault) => onFault(fault, request), thrown);
  return errorResponse(thrown);
}
