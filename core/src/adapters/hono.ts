/** The adapter for Hono 4, on every runtime that Hono runs on. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { ParsedForm } from '../protocol/http.ts';
import { exchange, exchangeAtPath, type Operation } from './fetch/exchange.ts';
import type { FetchOptions } from './fetch/fetch_options.ts';

/** What of Hono's `Context` is needed here. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request;
    /** What somebody has read already, by the way in which it was read. */
    readonly bodyCache: { readonly formData?: unknown; readonly text?: unknown };
    text(): Promise<string>;
    formData(): Promise<FormData>;
  };
}

/** @typeParam Context Hono's own, for callbacks that ask it more than the adapter does, such as `getConnInfo` */
export type HonoOptions<Context extends HonoContext = HonoContext> = FetchOptions<Context>;

/**
 * A middleware that answers at the paths of the server, whatever the path below which the host puts it, and leaves all
 * others to what follows: `app.use(mount(server))`.
 */
export function mount<Context extends HonoContext = HonoContext>(
  server: AuthorizationServer,
  options: HonoOptions<Context> = {},
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const host = honoHost(options);
  return async (context, next) => {
    const response = exchangeAtPath(server, host, context);
    if (response !== undefined) return response;
    await next();
    return undefined;
  };
}

/** One operation alone: `app.post('/introspect', handler((request) => server.introspect(request)))`. */
export function handler<Context extends HonoContext = HonoContext>(
  operation: Operation,
  options: HonoOptions<Context> = {},
): (context: Context) => Promise<Response> {
  const host = honoHost(options);
  return (context) => exchange(operation, host, context);
}

function honoHost<Context extends HonoContext>(options: HonoOptions<Context>) {
  return { requestOf: ({ req }: Context) => req.raw, options: { body: bodyRead, ...options } };
}

/** Hono keeps what it has read, as the form or as what the text can be had from again. */
async function bodyRead({ req }: HonoContext): Promise<string | ParsedForm | undefined> {
  if (!req.raw.bodyUsed) return undefined;
  if (req.bodyCache.formData !== undefined) return formOf(await req.formData());
  return Object.keys(req.bodyCache).length > 0 ? req.text() : undefined;
}

function formOf(data: FormData): ParsedForm {
  const names = new Set(data.keys());
  return Object.fromEntries([...names].map((name) => [name, data.getAll(name)]));
}
