import type { AuthorizationServer } from '../../authorization_server.ts';
import { errorResponse } from '../../endpoints/error_response.ts';
import type { HttpRequest, HttpResponse } from '../../protocol/http.ts';
import type { FetchOptions } from './fetch_options.ts';
import { type Known, toHttpRequest } from './http_request.ts';

export type Operation = (request: HttpRequest) => Promise<HttpResponse>;

/** A framework whose handlers are given something that has a Fetch request in it. */
export interface FetchHost<Host> {
  requestOf(host: Host): Request;
  readonly options: FetchOptions<Host>;
}

/** Answers at the request's path; `undefined`, before anything was read, where no endpoint has it. */
export function exchangeAtPath<Host>(
  server: AuthorizationServer,
  { requestOf, options }: FetchHost<Host>,
  host: Host,
): Promise<Response> | undefined {
  const request = requestOf(host);
  const url = urlFor(server, request.url, options.strippedPrefix);
  const operation = server.operationAt(url);
  return operation && exchange(operation, { requestOf, options }, host, url);
}

/**
 * One request and its answer.
 * @throws what the operation throws, where errors are forwarded
 */
export async function exchange<Host>(
  operation: Operation,
  { requestOf, options }: FetchHost<Host>,
  host: Host,
  url?: string,
): Promise<Response> {
  const request = requestOf(host);
  const { errors, headers } = options;
  const answered = knownOf(options, host, url)
    .then((known) => toHttpRequest(request, known))
    .then(operation);
  const answer = await (errors === 'forward' ? answered : answered.catch(errorResponse));
  // RFC 9110 §9.3.2: no body, whatever the runtime would make of it.
  const response = request.method === 'HEAD' ? { ...answer, body: '' } : answer;
  return fromHttpResponse(response, headers?.(host));
}

/** @param further headers beside the answer's own, which win */
export function fromHttpResponse(
  { status, headers, body }: HttpResponse,
  further: Readonly<Record<string, string>> = {},
): Response {
  const all = new Headers(further);
  for (const [name, value] of Object.entries(headers)) {
    all.delete(name);
    for (const line of typeof value === 'string' ? [value] : value) all.append(name, line);
  }
  return new Response(body === '' ? null : body, { status, headers: all });
}

async function knownOf<Host>(
  { connection, body }: FetchOptions<Host>,
  host: Host,
  url: string | undefined,
): Promise<Known> {
  const read = await body?.(host);
  return {
    ...(url !== undefined && { url }),
    ...(read !== undefined && { body: read }),
    ...(connection !== undefined && { connection: connection(host) }),
  };
}

/** The metadata of RFC 8414 §3.1 are not below the issuer's path: what is served as it is stays as it is. */
function urlFor(server: AuthorizationServer, url: string, strippedPrefix: string | undefined): string {
  if (strippedPrefix === undefined || server.serves(url)) return url;
  const whole = new URL(url);
  whole.pathname = strippedPrefix.replace(/\/$/, '') + whole.pathname;
  return whole.href;
}
