/** The adapter for NestJS, on its Express and on its Fastify platform. */
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
 * Middleware that answers with what the server says at the request's path and leaves the others alone, on either
 * platform: `app.use(mount(server))`, or `consumer.apply(mount(server)).forRoutes(…)`. Global prefixes change nothing:
 * paths are the issuer's. Forwarded errors go to exception filters.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export { mount } from './express.ts';

export type NestRequest = ExpressRequest | FastifyRequest;

/** A request and its response, of either platform. */
export type NestExchange =
  | readonly [request: ExpressRequest, response: ExpressResponse]
  | readonly [request: FastifyRequest, response: FastifyReply];

/**
 * One operation alone, in a method of a controller that has `@Req() request` and `@Res() response`:
 * `return introspection(request, response)` with `const introspection = handler((request) => server.introspect(request))`.
 * Forwarded errors reject, and so go to exception filters.
 * @throws {ConfigurationError} an option does not fit; the message names it
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

/** Rejects with what goes to `next`. */
function passedOn(answer: (next: (error?: unknown) => void) => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => void answer(reject).then(resolve, reject));
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: NestRequest): Promise<HttpRequest> {
  return 'raw' in request ? fastify.toHttpRequest(request) : express.toHttpRequest(request);
}

/** Of the request and its response, the answer to send, and further headers beside its own, which win. */
export function sendResponse(
  ...sent: readonly [...exchange: NestExchange, answer: HttpResponse, further?: FurtherHeaders]
): void {
  if (isOfFastify(sent)) fastify.sendResponse(...sent);
  else express.sendResponse(...sent);
}

/** Whether what begins with a request and its response is of Fastify. */
function isOfFastify<Arguments extends readonly [NestRequest, ...unknown[]]>(
  given: Arguments,
): given is Extract<Arguments, readonly [FastifyRequest, ...unknown[]]> {
  return 'raw' in given[0];
}
