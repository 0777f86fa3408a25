/** Adapter for Koa 3. */

import { rendered } from '../http/error_response.ts';
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

/** The members of Koa's context that the adapter uses. */
export interface KoaContext {
  readonly req: NodeRequest;
  /** A parser leaves `body`, and some also the `rawBody` from which they made it. */
  readonly request: { readonly body?: unknown; readonly rawBody?: unknown };
  /** The URL before middleware removed the paths that it is mounted at. */
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(name: string, value: string | string[]): void;
  remove(name: string): void;
}

export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Returns middleware that serves all endpoints and calls `next` for other paths. Forwarded errors are thrown.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(mount(server));
 */
export function mount(server: MountedServer, mountOptions: MountOptions<KoaContext> = {}): KoaMiddleware {
  requireKinds(mountOptions, MOUNT_OPTIONS);
  const { strippedPath, ...options } = mountOptions;
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
 * Serves one operation.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * router.all('/token/revoke', handler((request) => server.revoke(request))); // also preflights
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
  const { errors, headers, onFault } = options;
  const hosted = identified(hostedOf, options);
  return async (operation, context) => {
    const render = (thrown: unknown) => rendered(thrown, onFault, context);
    const answer = await answerTo(context.req, hosted(context), operation, errors, render);
    if (answer !== undefined) sendResponse(context, answer, headers?.(context));
  };
}

/**
 * Converts a request. Reads its body, but stops just past the server's limit.
 * @throws {Error} the connection broke before the body was complete
 */
export function toHttpRequest(context: KoaContext): Promise<HttpRequest> {
  return plainRequest(context.req, hostedOf(context));
}

/** @param further headers to add; those of `answer` win */
export function sendResponse(context: KoaContext, answer: HttpResponse, further?: FurtherHeaders): void {
  // If the host has set JSON for all responses, Koa would send an empty body as the text `null`.
  context.remove('content-type');
  // Koa gives an empty string a media type, and sets the status to 204 when the body becomes `null`.
  context.body = answer.body === '' ? null : answer.body;
  context.status = answer.status;
  for (const [name, value] of Object.entries(headersOf(context.req, answer, further))) {
    context.set(name, typeof value === 'string' ? value : [...value]);
  }
}

function hostedOf({ req, request, originalUrl }: KoaContext): HostedRequest {
  const { body, rawBody } = request;
  return { url: originalUrl, body, rawBody, id: req.id };
}
