import { closingHeaders, type NodeHeaders } from '../protocol/node_headers.ts';
import type { Answer } from './protection.ts';

/** What is used of a response of `node:http`, and of the frameworks that hand it on. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** What is used of Fastify's reply. */
export interface FastifyReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: Uint8Array | undefined): unknown;
}

export function sendByNode(
  request: NodeHeaders & { readonly method?: string | undefined },
  response: NodeResponse,
  { status, headers, body }: Answer,
): void {
  const bytes = new TextEncoder().encode(body).length;
  response.writeHead(status, {
    ...headers,
    ...closingHeaders(request),
    ...(request.method !== 'HEAD' && { 'content-length': String(bytes) }),
  });
  response.end(body);
}

/** @returns what a hook returns that has answered */
export function sendByFastify(
  request: NodeHeaders,
  reply: FastifyReply,
  { status, headers, body }: Answer,
): unknown {
  reply.code(status);
  reply.headers({ ...headers, ...closingHeaders(request) });
  // Of a text it would write the type anew, and to nothing it would give one.
  return reply.send(body === '' ? undefined : new TextEncoder().encode(body));
}
