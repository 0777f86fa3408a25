/** The adapter for Koa 3. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { rendered } from '../endpoints/fault.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';
import {
  type AdapterOptions,
  type MountOptions,
  mountedEndpoints,
  type Operation,
} from './adapter_options.ts';
import { answerTo } from './node/answer.ts';
import { type HostedRequest, identityOf, type NodeRequest, plainRequest } from './node/http_request.ts';
import { type FurtherHeaders, headersOf } from './node/http_response.ts';

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
}

export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Middleware that answers with what the server says at the request's path and leaves the others alone:
 * `app.use(mount(server))`. Forwarded errors are thrown.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount(
  server: AuthorizationServer,
  { strippedPath, ...options }: MountOptions<KoaContext> = {},
): KoaMiddleware {
  const endpoints = mountedEndpoints<KoaContext>(server, strippedPath, (context) =>
    identityOf(hostedOf(context)),
  );
  const { operation, onFault } = endpoints;
  const answer = handler(operation, { onFault, ...options });
  return async (context, next) => {
    if (endpoints.serves(context.originalUrl)) return answer(context);
    await next();
  };
}

/** One operation alone: `router.post('/introspect', handler((request) => server.introspect(request)))`. */
export function handler(
  operation: Operation,
  { errors, headers, onFault }: AdapterOptions<KoaContext> = {},
): (context: KoaContext) => Promise<void> {
  return async (context) => {
    const render = (thrown: unknown) => rendered(thrown, context, onFault);
    const answer = await answerTo(context.req, hostedOf(context), operation, errors, render);
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
