/** The adapter for Hono 4, on every runtime that Hono runs on. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { HttpRequest, HttpResponse, ParsedForm } from '../http/http.ts';
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

/** What of Hono's `Context` is used. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request;
    /** Bodies that were read already, by the method that read them. */
    readonly bodyCache: object;
    text(): Promise<string>;
    formData(): Promise<FormData>;
  };
}

/**
 * A middleware that answers with what the server says at the request's path and leaves the others to what follows:
 * `app.use(mount(server))`. Paths are the issuer's, whatever base path the application has. Where the peer's address
 * is known depends on the runtime: `connection: (c: Context) => ({ remoteAddress: getConnInfo(c).remote.address })`. Forwarded
 * errors go to `app.onError`.
 * @typeParam Context Hono's own, where a callback asks it more than the adapter does
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<Context extends HonoContext = HonoContext>(
  server: AuthorizationServer,
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
 * One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`.
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function handler<Context extends HonoContext = HonoContext>(
  operation: Operation,
  options: FetchOptions<Context> = {},
): (context: Context) => Promise<Response> {
  return operationExchange<Context, []>(requestOf, operation, { body: bodyRead, ...options });
}

/**
 * The request as a plain value, with the body that Hono has kept where somebody has read it. A body is read no further
 * than just past the server's limit.
 * @throws {TypeError} other code has read the body without Hono
 * @throws what the body failed with on its way
 */
export async function toHttpRequest(context: HonoContext, known: Known = {}): Promise<HttpRequest> {
  const body = known.body ?? (await bodyRead(context));
  return plainRequest(requestOf(context), { ...known, ...(body !== undefined && { body }) });
}

/**
 * The response, for the handler to return.
 * @param further headers beside the answer's own, which win
 */
export function sendResponse(
  context: HonoContext,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return responseTo(requestOf(context), answer, further);
}

const requestOf = ({ req }: HonoContext): Request => req.raw;

/** Hono keeps what it has read, in the first way in which it was read; all others are made of that. */
async function bodyRead({ req }: HonoContext): Promise<ReadBody> {
  if (!req.raw.bodyUsed) return undefined;
  const [way] = Object.keys(req.bodyCache);
  if (way === undefined) return undefined;
  // Hono makes text of the parsed form as if it were multipart/form-data.
  return way === 'formData' ? formOf(await req.formData()) : req.text();
}

function formOf(data: FormData): ParsedForm {
  const names = new Set(data.keys());
  return Object.fromEntries([...names].map((name) => [name, oneOrAll(data.getAll(name))]));
}

function oneOrAll(values: readonly FormDataEntryValue[]): unknown {
  return values.length > 1 ? values : values[0];
}
