/** The adapter for `node:http`. */
import type { ServerResponse } from 'node:http';
import type { AuthorizationServer } from '../authorization_server.ts';
import type { HttpRequest } from '../http/http.ts';
import type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
import {
  hostedByNode,
  identified,
  mountedMiddleware,
  type Next,
  type NodeRequest,
  operationMiddleware,
  plainRequest,
} from './node_exchange.ts';

export type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
export {
  addressUnit,
  type DocumentFetcherOptions,
  documentFetcher,
  documentRefusal,
  plainAddress,
} from './document_fetcher.ts';
export type { NodeRequest } from './node_exchange.ts';
export { sendResponse } from './node_exchange.ts';

export type NodeHandler = (request: NodeRequest, response: ServerResponse, next?: Next) => Promise<void>;

/**
 * Answers with what the server says at the request's path; elsewhere `next`, or 404 where there is none. Forwarded
 * errors go to `next`, and are rendered where there is none.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount(server: AuthorizationServer, options?: MountOptions<NodeRequest>): NodeHandler {
  return mountedMiddleware(identified(hostedByNode, options), server, options);
}

/**
 * One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler(operation: Operation, options?: AdapterOptions<NodeRequest>): NodeHandler {
  return operationMiddleware(identified(hostedByNode, options), operation, options);
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: NodeRequest): Promise<HttpRequest> {
  return plainRequest(request, hostedByNode(request));
}
