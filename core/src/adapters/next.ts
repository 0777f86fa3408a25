/** The adapter for the route handlers of Next.js' app router. */
import type { AuthorizationServer } from '../authorization_server.ts';
import type { Operation } from './fetch/exchange.ts';
import type { FetchOptions } from './fetch/fetch_options.ts';
import { handler as fetchHandler, mount as fetchMount } from './fetch.ts';

/** @typeParam NextRequest that of Next.js, for callbacks that ask it more than a `Request` can tell */
export type NextOptions<NextRequest extends Request = Request> = FetchOptions<NextRequest>;

export type RouteHandler<NextRequest extends Request = Request> = (request: NextRequest) => Promise<Response>;

/** What a `route.ts` exports. */
export type RouteHandlers<NextRequest extends Request = Request> = Readonly<
  Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS', RouteHandler<NextRequest>>
>;

/**
 * The handlers of a catch-all route: `export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server)`.
 * The whole path says which endpoint answers, wherever the folder of the route is; Next.js takes its `basePath` off
 * it, which is then the option `strippedPrefix`.
 */
export function mount<NextRequest extends Request = Request>(
  server: AuthorizationServer,
  options: NextOptions<NextRequest> = {},
): RouteHandlers<NextRequest> {
  const answer = fetchMount(server, options);
  return {
    GET: answer,
    HEAD: answer,
    POST: answer,
    PUT: answer,
    DELETE: answer,
    PATCH: answer, // no endpoint has it: 405 with `Allow`, which Next.js does not send by itself
    OPTIONS: answer,
  };
}

/** One operation alone: `export const POST = handler((request) => server.introspect(request))`. */
export function handler<NextRequest extends Request = Request>(
  operation: Operation,
  options: NextOptions<NextRequest> = {},
): RouteHandler<NextRequest> {
  return fetchHandler(operation, options);
}
