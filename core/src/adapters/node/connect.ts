import type { ServerResponse } from 'node:http';
import type { HostedRequest, NodeRequest } from './http_request.ts';
import type { Next } from './middleware.ts';

/** A request as Express has it, and others that run Express's middleware. */
export interface ConnectRequest extends NodeRequest {
  /** The URL before the paths were taken off below which routers were mounted. */
  readonly originalUrl?: string | undefined;
  /** The peer, as far as the proxies before it are trusted. */
  readonly ip?: string | undefined;
}

export type ConnectMiddleware = (
  request: ConnectRequest,
  response: ServerResponse,
  next: Next,
) => Promise<void>;

export function hostedByConnect(request: ConnectRequest): HostedRequest {
  const { originalUrl, url, ip, body, rawBody, id, socket } = request;
  return { url: originalUrl ?? url, body, rawBody, id, remoteAddress: ip ?? socket.remoteAddress };
}
