import type { HttpResponse } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import { observe } from '../protocol/observe.ts';
import { errorResponse } from './error_response.ts';

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
