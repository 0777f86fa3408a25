/** Adapter for Fetch: takes a `Request`, returns a `Response`, and runs on every runtime. */

import { fromHttpResponse, takingTwo } from '../http/http.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import { NOT_FOUND, type Operation } from './adapter_options.ts';
import type { FetchMountOptions, FetchOptions } from './fetch_exchange.ts';
import { mountedExchange, operationExchange } from './fetch_exchange.ts';

export type { Operation } from './adapter_options.ts';
export type {
  FetchMountOptions as MountOptions,
  FetchOptions as AdapterOptions,
} from './fetch_exchange.ts';
export { responseTo as sendResponse, toHttpRequest } from './fetch_exchange.ts';

/** @typeParam Rest what the runtime passes after the request; callbacks in the options receive it too */
export type FetchHandler<Incoming extends Request = Request, Rest extends readonly unknown[] = []> = (
  request: Incoming,
  ...rest: Rest
) => Promise<Response>;

/**
 * Serves all endpoints. Answers 404 if the server has no endpoint at the path. Forwarded errors reject.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * export default { fetch: mount(server) };
 */
export function mount<Incoming extends Request = Request, Rest extends readonly unknown[] = []>(
  server: MountedServer,
  options: FetchMountOptions<Incoming, Rest> = {},
): FetchHandler<Incoming, Rest> {
  const answer = mountedExchange<Incoming, Rest>(requestOf, server, options);
  return takingTwo<FetchHandler<Incoming, Rest>>(
    async (request, ...rest) =>
      answer(request, ...rest) ?? fromHttpResponse(NOT_FOUND, options.headers?.(request, ...rest)),
  );
}

/**
 * Serves one operation, for a host that routes by itself.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * const introspect = handler((request) => server.introspect(request));
 */
export function handler<Incoming extends Request = Request, Rest extends readonly unknown[] = []>(
  operation: Operation,
  options: FetchOptions<Incoming, Rest> = {},
): FetchHandler<Incoming, Rest> {
  return takingTwo<FetchHandler<Incoming, Rest>>(operationExchange(requestOf, operation, options));
}

const requestOf = (request: Request) => request;
