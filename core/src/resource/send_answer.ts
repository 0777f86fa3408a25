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
  send(body: Uint8Array): unknown;
}

export function sendByNode(response: NodeResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers);
  response.end(body);
}

/** @returns what a hook returns that has answered */
export function sendByFastify(reply: FastifyReply, { status, headers, body }: Answer): unknown {
  reply.code(status);
  reply.headers(headers);
  return reply.send(new TextEncoder().encode(body)); // of a text it would write the type anew
}
