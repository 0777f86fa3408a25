import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '../../protocol/http.ts';
import { headersWithEveryAuthorization } from '../../protocol/node_headers.ts';
import { bodyOf, type LeftByParsers } from './body.ts';

/** A request of `node:http` with what hosts add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The form, where the host has parsed it already; or its text. */
  readonly body?: unknown;
  /** What `body` was made of, where the host keeps it. */
  readonly rawBody?: unknown;
  /** The host's identifier of the request, for its log. */
  readonly id?: unknown;
}

/** What the host's framework says of a request, and knows better than the request itself. */
export interface HostedRequest extends LeftByParsers {
  /** With everything that routers take off on the way. */
  readonly url: string | undefined;
  /** Of the peer, as far as the framework believes the proxies before it. */
  readonly remoteAddress: string | undefined;
  readonly id: unknown;
}

/** @throws {Error} the connection broke before the body was complete */
export async function plainRequest(request: IncomingMessage, hosted: HostedRequest): Promise<HttpRequest> {
  const { method = 'GET' } = request;
  const { remoteAddress } = hosted;
  const body = await bodyOf(request, hosted);
  return {
    method,
    ...identityOf(hosted),
    headers: headersWithEveryAuthorization(request),
    ...(remoteAddress !== undefined && { connection: { remoteAddress } }),
    ...(body !== undefined && { body }),
  };
}

/** What is known of a request before it is read. */
export function identityOf({ url = '/', id }: HostedRequest): Pick<HttpRequest, 'url' | 'id'> {
  return { url, ...(typeof id === 'string' && id !== '' && { id }) };
}
