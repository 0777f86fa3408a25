/** Adapter for Hono 4, on every runtime that Hono supports. */

import type { HttpRequest, HttpResponse, ParsedForm } from '../http/http.ts';
import type { MountedServer } from '../server/authorization_server.ts';
import type { Operation } from './adapter_options.ts';
import type { FetchMountOptions, FetchOptions, ReadBody } from './fetch_exchange.ts';
import {
  type Known,
  mountedExchange,
  operationExchange,
  toHttpRequest as plainRequest,
  responseTo,
} from './fetch_exchange.ts';

export type { Operation } from './adapter_options.ts';
export type {
  FetchMountOptions as MountOptions,
  FetchOptions as AdapterOptions,
} from './fetch_exchange.ts';

/** The members of Hono's `Context` that the adapter uses. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request;
    /** Bodies that have been read, by the name of the method that read them. */
    readonly bodyCache: object;
    text(): Promise<string>;
    formData(): Promise<FormData>;
  };
}

/**
 * Returns middleware that serves all endpoints and calls `next` for other paths. The endpoints have the issuer's paths,
 * regardless of the application's base path. Forwarded errors go to `app.onError`.
 * @typeParam Context Hono's own context type, if a callback needs more than the adapter does
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(mount(server));
 */
export function mount<Context extends HonoContext = HonoContext>(
  server: MountedServer,
  options: FetchMountOptions<Context> = {},
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const answer = mountedExchange<Context, []>(requestOf, server, { body: bodyRead, ...options });
  return async (context, next) => {
    const response = answer(context);
    if (response !== undefined) return response;
    await next();
    return undefined;
  };
}

/**
 * Serves one operation.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.all('/token/revoke', handler((request) => server.revoke(request))); // also preflights
 */
export function handler<Context extends HonoContext = HonoContext>(
  operation: Operation,
  options: FetchOptions<Context> = {},
): (context: Context) => Promise<Response> {
  return operationExchange<Context, []>(requestOf, operation, { body: bodyRead, ...options });
}

/**
 * Converts a request. If other code has read the body through Hono, it uses what Hono kept. Otherwise it reads the
 * body, but stops just past the server's limit.
 * @throws {TypeError} other code has read the body without Hono
 * @throws the error that the body failed with
 */
export async function toHttpRequest(context: HonoContext, known: Known = {}): Promise<HttpRequest> {
  const body = known.body ?? (await bodyRead(context));
  return plainRequest(requestOf(context), { ...known, ...(body !== undefined && { body }) });
}

/**
 * Converts a response, for the handler to return.
 * @param further headers to add; those of `answer` win
 */
export function sendResponse(
  context: HonoContext,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return responseTo(requestOf(context), answer, further);
}

const requestOf = ({ req }: HonoContext): Request => req.raw;

/** Hono keeps the result of the first method that read the body, and derives all others from it. */
async function bodyRead({ req }: HonoContext): Promise<ReadBody> {
  if (!req.raw.bodyUsed) return undefined;
  const [way] = Object.keys(req.bodyCache);
  if (way === undefined) return undefined;
  // Hono would turn the parsed form into multipart/form-data text.
  return way === 'formData' ? formOf(await req.formData()) : req.text();
}

function formOf(data: FormData): ParsedForm {
  const names = new Set(data.keys());
  return Object.fromEntries([...names].map((name) => [name, oneOrAll(data.getAll(name))]));
}

function oneOrAll(values: readonly FormDataEntryValue[]): unknown {
  return values.length > 1 ? values : values[0];
}
