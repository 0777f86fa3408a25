/** Adapter for Fastify 5. */

import { rendered } from '../http/error_response.ts';
import { ConfigurationError } from '../http/errors.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import { requireKinds } from '../protocol/option_kinds.ts';
import type { MountedServer } from '../server/authorization_server.ts';
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

/** The members of Fastify's request that the adapter uses. */
export interface FastifyRequest {
  readonly raw: NodeRequest;
  /** Includes the prefix of the plugin. */
  readonly url: string;
  readonly id: string;
  readonly body: unknown;
  /** The text or the bytes from which `body` was parsed, if the parser keeps them. */
  readonly rawBody?: unknown;
}

/** The members of Fastify's reply that the adapter uses. */
export interface FastifyReply {
  code(status: number): unknown;
  header(name: string, value: string | readonly string[]): unknown;
  send(payload?: unknown): unknown;
  hijack(): unknown;
}

export type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The members of a Fastify instance that the adapter uses. */
export interface FastifyInstance {
  readonly prefix: string;
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
}

/**
 * Returns a plugin that serves all endpoints and leaves other paths to the host's routes. Register it on the root
 * instance, because the endpoints have the issuer's paths. It reads bodies before the host's parsers do. Forwarded
 * errors go to the error handler.
 * @throws {ConfigurationError} an option is wrong; the message names it. Registration under a prefix throws too.
 * @example
 * await app.register(mount(server));
 */
export function mount(
  server: MountedServer,
  mountOptions: MountOptions<FastifyRequest> = {},
): (instance: FastifyInstance) => Promise<void> {
  requireKinds(mountOptions, MOUNT_OPTIONS);
  const { strippedPath, ...options } = mountOptions;
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
  // The plugin has no routes. Without this symbol its hook would not see requests outside its own scope.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}

/**
 * Serves one operation. Fastify answers 415 unless a parser for forms is registered, such as `@fastify/formbody`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.all('/token/revoke', handler((request) => server.revoke(request))); // also preflights
 */
export function handler(operation: Operation, options: AdapterOptions<FastifyRequest> = {}): FastifyHandler {
  const answer = answering(options);
  return (request, reply) => answer(operation, request, reply);
}

function answering(
  options: AdapterOptions<FastifyRequest>,
): (operation: Operation, ...exchange: Parameters<FastifyHandler>) => ReturnType<FastifyHandler> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, onFault } = options;
  const hosted = identified(hostedOf, options);
  return async (operation, request, reply) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, request);
    const answer = await answerTo(request.raw, hosted(request), operation, errors, render);
    if (answer === undefined) reply.hijack();
    else sendResponse(request, reply, answer, headers?.(request));
    return reply;
  };
}

/**
 * Converts a request. Reads its body, but stops just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(request: FastifyRequest): Promise<HttpRequest> {
  return plainRequest(request.raw, hostedOf(request));
}

/** @param further headers to add; those of `answer` win */
export function sendResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: HttpResponse,
  further?: FurtherHeaders,
): void {
  reply.code(answer.status);
  for (const [name, value] of Object.entries(headersOf(request.raw, answer, further)))
    reply.header(name, value);
  // Fastify would add a charset to the media type of a string.
  reply.send(answer.body === '' ? undefined : Buffer.from(answer.body));
}

function hostedOf({ url, body, rawBody, id }: FastifyRequest): HostedRequest {
  return { url, body, rawBody, id };
}
