/** The Fetch adapter: `Request` in, `Response` out, on every runtime. */
import type { AuthorizationServer } from '../authorization_server.ts';
import { exchange, exchangeAtPath, type Operation } from './fetch/exchange.ts';
import type { FetchOptions } from './fetch/fetch_options.ts';

export { fromHttpResponse } from './fetch/exchange.ts';
export type { FetchOptions } from './fetch/fetch_options.ts';
export { toHttpRequest } from './fetch/http_request.ts';

export type FetchHandler = (request: Request) => Promise<Response>;

/** Answers with what the server says at the request's path; 404 where it has no endpoint there. */
export function mount(server: AuthorizationServer, options: FetchOptions = {}): FetchHandler {
  const host = { requestOf, options };
  return async (request) => exchangeAtPath(server, host, request) ?? new Response(null, { status: 404 });
}

/** One operation alone, for a host that routes by itself: `handler((request) => server.introspect(request))`. */
export function handler(operation: Operation, options: FetchOptions = {}): FetchHandler {
  return (request) => exchange(operation, { requestOf, options }, request);
}

const requestOf = (request: Request) => request;
