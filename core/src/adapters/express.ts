// ADR 34.
/** Adapter for Express 5 and 4. */

import type { HttpRequest } from '../http/http.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
import {
  type ConnectMiddleware,
  type ConnectRequest,
  hostedByConnect,
  identified,
  mountedMiddleware,
  operationMiddleware,
  plainRequest,
} from './node_exchange.ts';

export type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';
export { sendResponse } from './node_exchange.ts';

export type ExpressRequest = ConnectRequest;

export type ExpressResponse = Parameters<ConnectMiddleware>[1];

export type ExpressMiddleware = ConnectMiddleware;

/**
 * Returns middleware that serves all endpoints and calls `next` for other paths. If you mount it below a path, such as
 * `app.use('/auth', mount(server))`, the issuer needs that path too. Forwarded errors go to `next`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(mount(server));
 */
export function mount(server: MountedServer, options?: MountOptions<ExpressRequest>): ExpressMiddleware {
  return mountedMiddleware(identified(hostedByConnect, options), server, options);
}

/**
 * Serves one operation.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.all('/token/revoke', handler((request) => server.revoke(request))); // also preflights
 */
export function handler(operation: Operation, options?: AdapterOptions<ExpressRequest>): ExpressMiddleware {
  return operationMiddleware(identified(hostedByConnect, options), operation, options);
}

/**
 * Converts a request. Reads its body, but stops just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: ExpressRequest): Promise<HttpRequest> {
  return plainRequest(request, hostedByConnect(request));
}
