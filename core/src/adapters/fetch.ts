/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { exchange, exchangeAtPath, type Operation } from './fetch/exchange.ts';
import type { FetchOptions } from './fetch/fetch_options.ts';

export { fromHttpResponse } from './fetch/exchange.ts';
export type { FetchOptions } from './fetch/fetch_options.ts';
export { toHttpRequest } from './fetch/http_request.ts';

export type FetchHandler<Host extends Request = Request> = (request: Host) => Promise<Response>;

/** Answers with what the server says at the request's path; 404 where it has no endpoint there. */
export function mount<Host extends Request = Request>(
  server: AuthorizationServer,
  options: FetchOptions<Host> = {},
): FetchHandler<Host> {
  const host = { requestOf, options };
  return async (request) => exchangeAtPath(server, host, request) ?? new Response(null, { status: 404 });
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler<Host extends Request = Request>(
  operation: Operation,
  options: FetchOptions<Host> = {},
): FetchHandler<Host> {
  return (request) => exchange(operation, { requestOf, options }, request);
}

const requestOf = (request: Request) => request;
