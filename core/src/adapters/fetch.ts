/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { fromHttpResponse, takingTwo } from '../http/fetch_response.ts';
import { NOT_FOUND, type Operation } from './adapter_options.ts';
import type { FetchMountOptions, FetchOptions } from './fetch_exchange.ts';
import { mountedExchange, operationExchange } from './fetch_exchange.ts';

export type { Operation } from './adapter_options.ts';
export type {
  FetchMountOptions as MountOptions,
  FetchOptions as AdapterOptions,
} from './fetch_exchange.ts';
export { responseTo as sendResponse, toHttpRequest } from './fetch_exchange.ts';

/** @typeParam Rest what the runtime's server hands over after the request: callbacks of the options get it as well */
export type FetchHandler<Incoming extends Request = Request, Rest extends readonly unknown[] = []> = (
  request: Incoming,
  ...rest: Rest
) => Promise<Response>;

/**
 * Answers with what the server says at the request's path; 404 where it has no endpoint there. Forwarded errors reject.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<Incoming extends Request = Request, Rest extends readonly unknown[] = []>(
  server: AuthorizationServer,
  options: FetchMountOptions<Incoming, Rest> = {},
): FetchHandler<Incoming, Rest> {
  const answer = mountedExchange<Incoming, Rest>(requestOf, server, options);
  return takingTwo<FetchHandler<Incoming, Rest>>(
    async (request, ...rest) =>
      answer(request, ...rest) ?? fromHttpResponse(NOT_FOUND, options.headers?.(request, ...rest)),
  );
}

/**
 * One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler<Incoming extends Request = Request, Rest extends readonly unknown[] = []>(
  operation: Operation,
  options: FetchOptions<Incoming, Rest> = {},
): FetchHandler<Incoming, Rest> {
  return takingTwo<FetchHandler<Incoming, Rest>>(operationExchange(requestOf, operation, options));
}

const requestOf = (request: Request) => request;
