/** The adapter for h3 2, on every runtime that h3 runs on. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { HttpConnection, HttpRequest, HttpResponse } from '../http/http.ts';
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

/** What of h3's `H3Event` is used. */
export interface H3Event {
  /** `ip` is the peer, or whom its trusted proxies name. */
  readonly req: Request & { readonly ip?: string | undefined };
}

/**
 * A middleware that answers with what the server says at the request's path and leaves the others to what follows:
 * `app.use(mount(server))`. An application that is itself mounted below a path no longer sees that path, which is then
 * the option `strippedPath`. h3 keeps nothing of a body that it has read: where `readBody` comes first, what it got is
 * the option `body`. Forwarded errors go to `onError`, as the cause of its `HTTPError`.
 * @typeParam Event h3's own, where a callback asks it more than the adapter does
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<Event extends H3Event = H3Event>(
  server: AuthorizationServer,
  options: FetchMountOptions<Event> = {},
): (event: Event, next: () => unknown) => unknown {
  const answer = mountedExchange<Event, []>(requestOf, server, { connection: peerOf, ...options });
  return (event, next) => answer(event) ?? next();
}

/**
 * One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler<Event extends H3Event = H3Event>(
  operation: Operation,
  options: FetchOptions<Event> = {},
): (event: Event) => Promise<Response> {
  return operationExchange<Event, []>(requestOf, operation, { connection: peerOf, ...options });
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit, and not at all where it is
 * known.
 * @throws {TypeError} the body has been read already
 * @throws what the body failed with on its way
 */
export function toHttpRequest(event: H3Event, known?: Known): Promise<HttpRequest> {
  return plainRequest(requestOf(event), { connection: peerOf(event), ...known });
}

/**
 * The response, for the handler to return.
 * @param further headers beside the answer's own, which win
 */
export function sendResponse(
  event: H3Event,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return responseTo(requestOf(event), answer, further);
}

const requestOf = ({ req }: H3Event): Request => req;

const peerOf = ({ req }: H3Event): HttpConnection => ({ remoteAddress: req.ip });
