import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from '../../protocol/http.ts';
import { headersWithEveryAuthorization } from '../../protocol/node_headers.ts';
import type { AdapterOptions } from '../adapter_options.ts';
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
    headers: headersWithEveryAuthorization(request),
    ...(remoteAddress !== undefined && { connection: { remoteAddress } }),
    ...idOf(id),
    ...(body !== undefined && { body }),
  };
}

/** Texts and numbers are identifiers, as loggers count requests by default; nothing else is, nor an empty text. */
function idOf(id: unknown): Pick<HttpRequest, 'id'> {
  const isIdentifier = typeof id === 'number' || (typeof id === 'string' && id !== '');
  return isIdentifier ? { id: String(id) } : {};
}

/** As the host's framework says, but for the identifier where the host has an option for that. */
export function identified<Incoming>(
  hostedOf: (incoming: Incoming) => HostedRequest,
  { id }: { readonly id?: AdapterOptions<Incoming>['id'] | undefined } = {},
): (incoming: Incoming) => HostedRequest {
  return id === undefined ? hostedOf : (incoming) => ({ ...hostedOf(incoming), id: id(incoming) });
}
