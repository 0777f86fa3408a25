/** The adapter for Hono 4, on every runtime that Hono runs on. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { ParsedForm } from '../protocol/http.ts';
import type { Operation } from './adapter_options.ts';
import { mountedExchange, operationExchange } from './fetch/exchange.ts';
import type { FetchMountOptions, FetchOptions, ReadBody } from './fetch/fetch_options.ts';

/** What of Hono's `Context` is used. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request;
    /** What somebody has read already, by the way in which it was read. */
    readonly bodyCache: { readonly formData?: unknown; readonly text?: unknown };
    text(): Promise<string>;
    formData(): Promise<FormData>;
  };
}

/**
 * A middleware that answers with what the server says at the request's path and leaves the others to what follows:
 * `app.use(mount(server))`. Paths are the issuer's, whatever base path the application has. Where the peer's address
 * is known depends on the runtime: `connection: (c) => ({ remoteAddress: getConnInfo(c).remote.address })`. Forwarded
 * errors go to `app.onError`.
 * @typeParam Context Hono's own, where a callback asks it more than the adapter does
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<Context extends HonoContext = HonoContext>(
  server: AuthorizationServer,
  options: FetchMountOptions<Context> = {},
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const answer = mountedExchange(requestOf, server, { body: bodyRead, ...options });
  return async (context, next) => {
    const response = answer(context);
    if (response !== undefined) return response;
    await next();
    return undefined;
  };
}

/** One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`. */
export function handler<Context extends HonoContext = HonoContext>(
  operation: Operation,
  options: FetchOptions<Context> = {},
): (context: Context) => Promise<Response> {
  return operationExchange(requestOf, operation, { body: bodyRead, ...options });
}

const requestOf = ({ req }: HonoContext): Request => req.raw;

/** Hono keeps what it has read: the form, or what the text can be had from again. */
async function bodyRead({ req }: HonoContext): Promise<ReadBody> {
  if (!req.raw.bodyUsed) return undefined;
  if (req.bodyCache.formData !== undefined) return formOf(await req.formData());
  return Object.keys(req.bodyCache).length > 0 ? req.text() : undefined;
}

function formOf(data: FormData): ParsedForm {
  const names = new Set(data.keys());
  return Object.fromEntries([...names].map((name) => [name, data.getAll(name)]));
}
