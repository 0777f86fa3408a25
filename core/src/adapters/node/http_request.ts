import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '../../protocol/http.ts';
import { bodyOf } from './body.ts';

/** A request of `node:http` with what hosts add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The form, where the host has parsed it already; or its text. */
  readonly body?: unknown;
  /** The host's identifier of the request, for its log. */
  readonly id?: unknown;
}

/** What the host's framework says of a request, and knows better than the request itself. */
export interface HostedRequest {
  /** With everything that routers take off on the way. */
  readonly url: string | undefined;
  /** Of the peer, as far as the framework believes the proxies before it. */
  readonly remoteAddress: string | undefined;
  /** What its parsers have left. */
  readonly body: unknown;
  readonly id: unknown;
}

/** @throws {Error} the connection broke before the body was complete */
export async function plainRequest(request: IncomingMessage, hosted: HostedRequest): Promise<HttpRequest> {
  const { method = 'GET' } = request;
  const { url = '/', remoteAddress, id } = hosted;
  const body = await bodyOf(request, hosted.body);
  return {
    method,
    url,
    headers: headersOf(request),
    ...(remoteAddress !== undefined && { connection: { remoteAddress } }),
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(body !== undefined && { body }),
  };
}

/** Node keeps the first of several Authorization lines alone; nobody may choose which of them counts. */
function headersOf({ headers, rawHeaders }: IncomingMessage): HttpRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at], rawHeaders[at + 1]];
    if (name?.toLowerCase() === 'authorization' && value !== undefined) lines.push(value);
  }
  return lines.length > 1 ? { ...headers, authorization: lines } : headers;
}
