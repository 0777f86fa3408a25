/** Adapter for NestJS, on its Express and its Fastify platform. */
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { AdapterOptions, Operation } from './adapter_options.ts';
import type { ExpressRequest, ExpressResponse } from './express.ts';
import * as express from './express.ts';
import type { FastifyReply, FastifyRequest } from './fastify.ts';
import * as fastify from './fastify.ts';
import type { FurtherHeaders } from './node_exchange.ts';
import { hostedByConnect, identified, operationMiddleware } from './node_exchange.ts';

export type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';

/**
 * Returns middleware for either platform. It serves all endpoints and leaves other paths to the host's controllers.
 * Global prefixes do not apply: the endpoints have the issuer's paths. Forwarded errors go to exception filters.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(mount(server)); // or consumer.apply(mount(server)).forRoutes(…)
 */
export { mount } from './express.ts';

export type NestRequest = ExpressRequest | FastifyRequest;

/** Request and response of one of the two platforms. */
export type NestExchange =
  | readonly [request: ExpressRequest, response: ExpressResponse]
  | readonly [request: FastifyRequest, response: FastifyReply];

/**
 * Serves one operation, in a controller method with `@All()`, `@Req() request` and `@Res() response`. Forwarded errors
 * reject, so they reach exception filters.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * const introspection = handler((request) => server.introspect(request));
 * // in the method of the controller:
 * return introspection(request, response);
 */
export function handler(
  operation: Operation,
  options?: AdapterOptions<NestRequest>,
): (...exchange: NestExchange) => Promise<void> {
  const hostedOf = identified<ExpressRequest>(hostedByConnect, options);
  const onExpress = operationMiddleware<ExpressRequest>(hostedOf, operation, options);
  const onFastify = fastify.handler(operation, options);
  return async (...exchange) => {
    if (isOfFastify(exchange)) await onFastify(...exchange);
    else await passedOn((next) => onExpress(...exchange, next));
  };
}

/** Rejects with what the middleware passes to `next`. */
function passedOn(answer: (next: (error?: unknown) => void) => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => void answer(reject).then(resolve, reject));
}

/**
 * Converts a request. Reads its body, but stops just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: NestRequest): Promise<HttpRequest> {
  return 'raw' in request ? fastify.toHttpRequest(request) : express.toHttpRequest(request);
}

/** Sends a response on either platform. Headers of `answer` win over `further`. */
export function sendResponse(
  ...sent: readonly [...exchange: NestExchange, answer: HttpResponse, further?: FurtherHeaders]
): void {
  if (isOfFastify(sent)) fastify.sendResponse(...sent);
  else express.sendResponse(...sent);
}

function isOfFastify<Arguments extends readonly [NestRequest, ...unknown[]]>(
  args: Arguments,
): args is Extract<Arguments, readonly [FastifyRequest, ...unknown[]]> {
  return 'raw' in args[0];
}
