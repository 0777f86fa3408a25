/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { fromHttpResponse } from '../protocol/fetch_response.ts';
import { NOT_FOUND, type Operation } from './adapter_options.ts';
import { mountedExchange, operationExchange } from './fetch/exchange.ts';
import type { FetchMountOptions, FetchOptions } from './fetch/fetch_options.ts';

export { fromHttpResponse } from '../protocol/fetch_response.ts';
export type { FetchMountOptions, FetchOptions } from './fetch/fetch_options.ts';
export { toHttpRequest } from './fetch/http_request.ts';

export type FetchHandler<Incoming extends Request = Request> = (request: Incoming) => Promise<Response>;

/**
 * Answers with what the server says at the request's path; 404 where it has no endpoint there. Forwarded errors reject.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<Incoming extends Request = Request>(
  server: AuthorizationServer,
  options: FetchMountOptions<Incoming> = {},
): FetchHandler<Incoming> {
  const answer = mountedExchange(requestOf, server, options);
  return async (request) => answer(request) ?? fromHttpResponse(NOT_FOUND, options.headers?.(request));
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler<Incoming extends Request = Request>(
  operation: Operation,
  options: FetchOptions<Incoming> = {},
): FetchHandler<Incoming> {
  return operationExchange(requestOf, operation, options);
}

const requestOf = (request: Request) => request;
