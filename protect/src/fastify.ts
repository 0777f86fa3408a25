/** `protect` for Fastify. */
import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import {
  type FastifyReply,
  hostMetadata,
  hostProtection,
  type NodeProtectionOptions,
  sendByFastify,
} from './protection.ts';

export { tlsCertificateOf, tokenOf } from './node.ts';
export type { FastifyReply, NodeProtectionOptions, PresentedCertificate } from './protection.ts';

/** The members of Fastify's request that are used. The token is stored in `token`. */
export interface FastifyRequest {
  readonly method: string;
  readonly url: string;
  /** The URL before `rewriteUrl` changed it. */
  readonly originalUrl?: string;
  readonly raw: NodeHeaders;
  readonly body?: unknown;
}

/**
 * Returns a hook for `onRequest` or `preHandler`. It passes a request on if its token permits it, and otherwise answers
 * it.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.addHook('onRequest', protect({ tokens, scopes: ['read'] }));
 */
export function protect(
  options: NodeProtectionOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const { protection, certificateOf } = hostProtection(options);
  return async (request, reply) => {
    const { method, originalUrl: url = request.url, raw, body } = request;
    const headers = headersWithEveryAuthorization(raw);
    const verdict = await protection.judge({
      method,
      url,
      headers,
      body,
      clientCertificate: certificateOf(raw),
    });
    if ('answer' in verdict) return sendByFastify(raw, reply, verdict.answer);
    reply.headers(verdict.headers);
    Object.assign(request, { token: verdict.token });
    return undefined;
  };
}

/**
 * Returns a hook for `onRequest` that serves the API's metadata (RFC 9728), and passes on all other requests. Use it at the root, before
 * `protect`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.addHook('onRequest', metadata({ tokens, scopes: ['read'] }));
 */
export function metadata(
  options: NodeProtectionOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const served = hostMetadata(options);
  return async ({ method, url, originalUrl = url, raw }, reply) => {
    const answer = served.metadata({ method, url: originalUrl });
    return answer && sendByFastify(raw, reply, answer);
  };
}
