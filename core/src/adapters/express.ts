/** The adapter for Express, 5 and 4. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { HttpRequest } from '../http/http.ts';
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

/** A request of Express. */
export type ExpressRequest = ConnectRequest;

/** A response of Express. */
export type ExpressResponse = Parameters<ConnectMiddleware>[1];

export type ExpressMiddleware = ConnectMiddleware;

/**
 * Middleware that answers with what the server says at the request's path and leaves the others alone:
 * `app.use(mount(server))`. Below a path (`app.use('/auth', mount(server))`) the issuer has that path as well. The
 * peer's address is that of `app.set('trust proxy', …)`. Forwarded errors go to `next`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount(
  server: AuthorizationServer,
  options?: MountOptions<ExpressRequest>,
): ExpressMiddleware {
  return mountedMiddleware(identified(hostedByConnect, options), server, options);
}

/**
 * One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler(operation: Operation, options?: AdapterOptions<ExpressRequest>): ExpressMiddleware {
  return operationMiddleware(identified(hostedByConnect, options), operation, options);
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: ExpressRequest): Promise<HttpRequest> {
  return plainRequest(request, hostedByConnect(request));
}
