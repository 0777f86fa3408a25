/** `protect` for Fastify. */
import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import { type FastifyReply, Protection, type ProtectionOptions, sendByFastify } from './protection.ts';

export { tokenOf } from './node.ts';
export type { FastifyReply } from './protection.ts';

/** What is used of the framework's request; the token is left in `token`. */
export interface FastifyRequest {
  readonly method: string;
  readonly url: string;
  readonly raw: NodeHeaders;
  readonly body?: unknown;
}

/** A hook, for `onRequest` or `preHandler`, that lets through what carries a token which permits it. */
export function protect(
  options: ProtectionOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const protection = new Protection(options);
  return async (request, reply) => {
    const { method, url, raw, body } = request;
    const headers = headersWithEveryAuthorization(raw);
    const verdict = await protection.judge({ method, url, headers, body });
    if ('answer' in verdict) return sendByFastify(raw, reply, verdict.answer);
    Object.assign(request, { token: verdict.token });
    return undefined;
  };
}
