/** Adapter for h3 2, on every runtime that h3 supports. */

import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import type { Operation } from './adapter_options.ts';
import type { FetchMountOptions, FetchOptions } from './fetch_exchange.ts';
import {
  type Known,
  mountedExchange,
  operationExchange,
  toHttpRequest as plainRequest,
  responseTo,
} from './fetch_exchange.ts';

export type { Operation } from './adapter_options.ts';
export type {
  FetchMountOptions as MountOptions,
  FetchOptions as AdapterOptions,
} from './fetch_exchange.ts';

/** The members of h3's `H3Event` that the adapter uses. */
export interface H3Event {
  readonly req: Request;
}

/**
 * Returns middleware that serves all endpoints and calls `next` for other paths. Forwarded errors go to `onError`, as
 * the cause of an `HTTPError`.
 *
 * If the application is mounted below a path, pass that path as `strippedPath`. If your code calls `readBody` first,
 * return its result from the option `body`, because h3 does not keep it.
 * @typeParam Event h3's own event type, if a callback needs more than the adapter does
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(mount(server));
 */
export function mount<Event extends H3Event = H3Event>(
  server: MountedServer,
  options: FetchMountOptions<Event> = {},
): (event: Event, next: () => unknown) => unknown {
  const answer = mountedExchange<Event, []>(requestOf, server, options);
  return (event, next) => answer(event) ?? next();
}

/**
 * Serves one operation.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.all('/token/revoke', handler((request) => server.revoke(request))); // also preflights
 */
export function handler<Event extends H3Event = H3Event>(
  operation: Operation,
  options: FetchOptions<Event> = {},
): (event: Event) => Promise<Response> {
  return operationExchange<Event, []>(requestOf, operation, options);
}

/**
 * Converts a request. Reads the body only if `known` has none, and stops just past the server's limit.
 * @throws {TypeError} other code has read the body already
 * @throws the error that the body failed with
 */
export function toHttpRequest(event: H3Event, known?: Known): Promise<HttpRequest> {
  return plainRequest(requestOf(event), known);
}

/**
 * Converts a response, for the handler to return.
 * @param further headers to add; those of `answer` win
 */
export function sendResponse(
  event: H3Event,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return responseTo(requestOf(event), answer, further);
}

const requestOf = ({ req }: H3Event): Request => req;
