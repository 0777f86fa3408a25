/** Adapter for route handlers of the Next.js app router. */
import type { MountedServer } from '../server/authorization_server.ts';
import { type FetchHandler, mount as mountFetch } from './fetch.ts';
import type { FetchMountOptions } from './fetch_exchange.ts';

export {
  type AdapterOptions,
  handler,
  type MountOptions,
  type Operation,
  sendResponse,
  toHttpRequest,
} from './fetch.ts';

/** The exports of a `route.ts`. */
export type RouteHandlers<
  NextRequest extends Request = Request,
  Rest extends readonly unknown[] = [],
> = Readonly<
  Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS', FetchHandler<NextRequest, Rest>>
>;

/**
 * Returns the handlers of a catch-all route. The whole path selects the endpoint, regardless of the route's folder.
 * Next.js removes its `basePath`, so pass that as `strippedPath`. Forwarded errors become Next.js's own 500.
 *
 * Next.js knows the peer's address only from `X-Forwarded-For`. Do not trust it unless a proxy overwrites that header.
 * @typeParam NextRequest Next.js's own request type, if a callback needs more than `Request` has
 * @typeParam Rest what Next.js passes after the request, such as the route's parameters
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server);
 */
export function mount<NextRequest extends Request = Request, Rest extends readonly unknown[] = []>(
  server: MountedServer,
  options: FetchMountOptions<NextRequest, Rest> = {},
): RouteHandlers<NextRequest, Rest> {
  const answer = mountFetch<NextRequest, Rest>(server, options);
  return {
    GET: answer,
    HEAD: answer,
    POST: answer,
    PUT: answer,
    DELETE: answer,
    PATCH: answer, // no endpoint supports it, but Next.js would answer 405 without `Allow`
    OPTIONS: answer,
  };
}
