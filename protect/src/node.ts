import {
  closingHeaders,
  headersWithEveryAuthorization,
  type NodeHeaders,
} from '@grantd/core/internal/http/http';
import { type Answer, Protection, type ProtectionOptions } from './protection.ts';
import { foundToken, type VerifiedAccessToken } from './verified_access_token.ts';

/** `protect` for Express, Connect and `node:http`. */

/** What is used of the framework's request; the token is left in `token`. */
export interface NodeRequest extends NodeHeaders {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly body?: unknown;
}

/** A middleware that lets through what carries a token which permits it, and answers anything else. */
export function protect(
  options: ProtectionOptions,
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => Promise<void> {
  const protection = new Protection(options);
  return async (request, response, next) => {
    const { method = 'GET', url = '/', body } = request;
    const headers = headersWithEveryAuthorization(request);
    try {
      const verdict = await protection.judge({ method, url, headers, body });
      if ('answer' in verdict) return sendByNode(request, response, verdict.answer);
      Object.assign(request, { token: verdict.token });
    } catch (error) {
      // Also where the host has answered meanwhile.
      return next(error);
    }
    next();
  };
}

/**
 * What the token of a request that was let through permits: `request.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf(request: object): VerifiedAccessToken {
  return foundToken('token' in request ? request.token : undefined);
}

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
