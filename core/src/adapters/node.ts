/** Adapter for `node:http`. */
import type { ServerResponse } from 'node:http';
import type { MountedServer } from '../server/authorization_server.ts';
import type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
import {
  hostedByNode,
  identified,
  mountedMiddleware,
  type Next,
  type NodeRequest,
  operationMiddleware,
} from './node_exchange.ts';

export { type ClientCertificate, tlsCertificateOf } from '../http/http.ts';
export { RequestRate } from '../platform/cache.ts';
export type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
export { type DocumentFetcherOptions, documentFetcher, documentRefusal } from './document_fetcher.ts';
export type { NodeRequest } from './node_exchange.ts';
export { addressUnit, plainAddress, senderOf, sendResponse, toHttpRequest } from './node_exchange.ts';

export type NodeHandler = (request: NodeRequest, response: ServerResponse, next?: Next) => Promise<void>;

/**
 * Serves all endpoints. If the server has no endpoint at the path, it calls `next`, or answers 404 without one.
 * Forwarded errors go to `next`. Without `next` they are rendered.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * createServer(mount(server)).listen(8080);
 */
export function mount(server: MountedServer, options?: MountOptions<NodeRequest>): NodeHandler {
  return mountedMiddleware(identified(hostedByNode, options), server, options);
}

/**
 * Serves one operation, for a host that routes by itself.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * const introspect = handler((request) => server.introspect(request));
 */
export function handler(operation: Operation, options?: AdapterOptions<NodeRequest>): NodeHandler {
  return operationMiddleware(identified(hostedByNode, options), operation, options);
}
