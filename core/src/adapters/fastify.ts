/** The adapter for Fastify 5. */

import type { AuthorizationServer } from '../authorization_server.ts';
import { rendered } from '../http/error_response.ts';
import { ConfigurationError } from '../http/errors.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import { requireKinds } from '../option_kinds.ts';
import {
  ADAPTER_OPTIONS,
  type AdapterOptions,
  MOUNT_OPTIONS,
  type MountOptions,
  mountedEndpoints,
  type Operation,
} from './adapter_options.ts';
import {
  answerTo,
  type FurtherHeaders,
  type HostedRequest,
  headersOf,
  identified,
  identityOf,
  type NodeRequest,
  plainRequest,
} from './node_exchange.ts';

export type { AdapterOptions, MountOptions, Operation } from './adapter_options.ts';

/** What of a request of Fastify is used. */
export interface FastifyRequest {
  readonly raw: NodeRequest;
  /** Whole, whatever prefix a plugin was registered with. */
  readonly url: string;
  readonly id: string;
  /** The peer; with the option `trustProxy`, as far as the proxies before it are trusted. */
  readonly ip: string;
  readonly body: unknown;
  /** What `body` was made of, where the host keeps it. */
  readonly rawBody?: unknown;
}

/** What of a reply of Fastify is used. */
export interface FastifyReply {
  code(status: number): unknown;
  header(name: string, value: string | readonly string[]): unknown;
  send(payload?: unknown): unknown;
  hijack(): unknown;
}

export type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** What of an instance of Fastify is used. */
export interface FastifyInstance {
  readonly prefix: string;
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
}

/**
 * A plugin that answers with what the server says at the request's path and leaves the others alone:
 * `app.register(mount(server))` on the application itself, not in a scope of it. It reads bodies itself, before parsers.
 * Paths are the issuer's, whatever `prefix` it is registered with. Forwarded errors go to the error handler.
 * @throws {ConfigurationError} an option does not fit; the message names it. Registering throws in a scope with a prefix
 */
export function mount(
  server: AuthorizationServer,
  given: MountOptions<FastifyRequest> = {},
): (instance: FastifyInstance) => Promise<void> {
  requireKinds(given, MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
  const hosted = identified(hostedOf, options);
  const endpoints = mountedEndpoints<FastifyRequest>(server, strippedPath, (request) =>
    identityOf(hosted(request)),
  );
  const answer = answering({ onFault: endpoints.onFault, ...options });
  const plugin = async (instance: FastifyInstance) => {
    if (instance.prefix !== '') {
      throw new ConfigurationError(
        'prefix',
        'none, as the endpoints have the paths of the issuer: register it on the instance that has no prefix',
      );
    }
    instance.addHook('onRequest', async (request, reply) => {
      const operation = endpoints.operationAt(request.url);
      return operation && answer(operation, request, reply);
    });
  };
  // The endpoints have no routes, so the hook must see the requests that no route of the host's is for.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}

/**
 * One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`. Fastify answers 415
 * by itself where no parser is registered for forms; `@fastify/formbody` is one.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler(operation: Operation, options: AdapterOptions<FastifyRequest> = {}): FastifyHandler {
  const answer = answering(options);
  return (request, reply) => answer(operation, request, reply);
}

function answering(
  options: AdapterOptions<FastifyRequest>,
): (operation: Operation, ...exchange: Parameters<FastifyHandler>) => ReturnType<FastifyHandler> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, id, onFault } = options;
  const hosted = identified(hostedOf, { id });
  return async (operation, request, reply) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, request);
    const answer = await answerTo(request.raw, hosted(request), operation, errors, render);
    if (answer === undefined) reply.hijack();
    else sendResponse(request, reply, answer, headers?.(request));
    return reply;
  };
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: FastifyRequest): Promise<HttpRequest> {
  return plainRequest(request.raw, hostedOf(request));
}

/** @param further headers beside the answer's own, which win */
export function sendResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: HttpResponse,
  further?: FurtherHeaders,
): void {
  reply.code(answer.status);
  for (const [name, value] of Object.entries(headersOf(request.raw, answer, further)))
    reply.header(name, value);
  // A text would have its media type amended.
  reply.send(answer.body === '' ? undefined : Buffer.from(answer.body));
}

function hostedOf({ url, body, rawBody, id, ip }: FastifyRequest): HostedRequest {
  return { url, body, rawBody, id, remoteAddress: ip };
}
