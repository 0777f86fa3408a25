/** The adapter for the route handlers of Next.js' app router. */
import type { AuthorizationServer } from '../authorization_server.ts';
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

/** What a `route.ts` exports. */
export type RouteHandlers<
  NextRequest extends Request = Request,
  Rest extends readonly unknown[] = [],
> = Readonly<
  Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS', FetchHandler<NextRequest, Rest>>
>;

/**
 * The handlers of a catch-all route: `export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server)`.
 * The whole path says which endpoint answers, wherever the folder of the route is; Next.js takes its `basePath` off
 * it, which is then the option `strippedPath`. The peer's address it tells by `X-Forwarded-For` alone, which is what
 * the client says of itself unless a proxy in front overwrites it. Forwarded errors are Next.js' own: 500.
 * @typeParam NextRequest that of Next.js, where a callback asks it more than a `Request` tells
 * @typeParam Rest what Next.js hands over after it, the parameters of the route
 * @throws {ConfigurationError} an option does not fit; the message names it
 */
export function mount<NextRequest extends Request = Request, Rest extends readonly unknown[] = []>(
  server: AuthorizationServer,
  options: FetchMountOptions<NextRequest, Rest> = {},
): RouteHandlers<NextRequest, Rest> {
  const answer = mountFetch<NextRequest, Rest>(server, options);
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
