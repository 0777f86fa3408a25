/** The adapter for Koa 3. */

import type { AuthorizationServer } from '../authorization_server.ts';
import { rendered } from '../http/error_response.ts';
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

/** What of a context of Koa is used. */
export interface KoaContext {
  readonly req: NodeRequest;
  /** `body` is what a parser has left, and `rawBody` what it was made of, where the parser keeps that. */
  readonly request: { readonly body?: unknown; readonly rawBody?: unknown };
  /** The URL before the paths were taken off below which middleware was mounted. */
  readonly originalUrl: string;
  /** The peer; with `app.proxy`, the one that the proxy names. */
  readonly ip: string;
  status: number;
  body: unknown;
  set(name: string, value: string | string[]): void;
  remove(name: string): void;
}

export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Middleware that answers with what the server says at the request's path and leaves the others alone:
 * `app.use(mount(server))`. Forwarded errors are thrown.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount(server: AuthorizationServer, given: MountOptions<KoaContext> = {}): KoaMiddleware {
  requireKinds(given, MOUNT_OPTIONS);
  const { strippedPath, ...options } = given;
  const hosted = identified(hostedOf, options);
  const endpoints = mountedEndpoints<KoaContext>(server, strippedPath, (context) =>
    identityOf(hosted(context)),
  );
  const answer = answering({ onFault: endpoints.onFault, ...options });
  return async (context, next) => {
    const operation = endpoints.operationAt(context.originalUrl);
    if (operation !== undefined) return answer(operation, context);
    await next();
  };
}

/**
 * One operation alone: `router.post('/introspect', handler((request) => server.introspect(request)))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler(
  operation: Operation,
  options: AdapterOptions<KoaContext> = {},
): (context: KoaContext) => Promise<void> {
  const answer = answering(options);
  return (context) => answer(operation, context);
}

function answering(
  options: AdapterOptions<KoaContext>,
): (operation: Operation, context: KoaContext) => Promise<void> {
  requireKinds(options, ADAPTER_OPTIONS);
  const { errors, headers, id, onFault } = options;
  const hosted = identified(hostedOf, { id });
  return async (operation, context) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, context);
    const answer = await answerTo(context.req, hosted(context), operation, errors, render);
    if (answer !== undefined) sendResponse(context, answer, headers?.(context));
  };
}

/**
 * The request as a plain value. A body is read no further than just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(context: KoaContext): Promise<HttpRequest> {
  return plainRequest(context.req, hostedOf(context));
}

/** @param further headers beside the answer's own, which win */
export function sendResponse(context: KoaContext, answer: HttpResponse, further?: FurtherHeaders): void {
  // No body would be the text `null` where the host has said JSON of all its answers.
  context.remove('content-type');
  // An empty text would be given a media type; and a body that is none, the status 204.
  context.body = answer.body === '' ? null : answer.body;
  context.status = answer.status;
  for (const [name, value] of Object.entries(headersOf(context.req, answer, further))) {
    context.set(name, typeof value === 'string' ? value : [...value]);
  }
}

function hostedOf({ req, request, originalUrl, ip }: KoaContext): HostedRequest {
  const { body, rawBody } = request;
  return { url: originalUrl, body, rawBody, id: req.id, remoteAddress: ip };
}
