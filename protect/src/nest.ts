/** `protect` for NestJS, on its Express and on its Fastify platform. */
import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import {
  type FastifyReply,
  type NodeResponse,
  Protection,
  type ProtectionOptions,
  sendByFastify,
  sendByNode,
} from './protection.ts';

export { tokenOf } from './node.ts';
export type { FastifyReply, NodeResponse } from './protection.ts';

/** What is used of the request of either platform; the token is left in `token`. */
export type NestRequest = {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
} & (NodeHeaders | { readonly raw: NodeHeaders });

/** What is used of Nest's `ExecutionContext`. */
export interface NestContext {
  switchToHttp(): { getRequest(): NestRequest; getResponse(): NodeResponse | FastifyReply };
}

/** A guard by an object, as `@UseGuards` and `app.useGlobalGuards` take one. */
export interface NestGuard {
  canActivate(context: NestContext): Promise<boolean>;
}

/**
 * A guard that lets through what carries a token which permits it, and answers anything else:
 * `@UseGuards(protect({ tokens, scopes: ['read'] }))`. Forwarded errors go to exception filters.
 */
export function protect(options: ProtectionOptions): NestGuard {
  const protection = new Protection(options);
  return {
    async canActivate(context) {
      const http = context.switchToHttp();
      const request = http.getRequest();
      const { method, url, body } = request;
      const plain = 'raw' in request ? request.raw : request;
      const headers = headersWithEveryAuthorization(plain);
      const verdict = await protection.judge({ method, url, headers, body });
      if ('answer' in verdict) {
        const response = http.getResponse();
        if ('writeHead' in response) sendByNode(plain, response, verdict.answer);
        else sendByFastify(plain, response, verdict.answer);
        return new Promise<never>(() => {}); // whatever a guard says or throws, Nest goes on, and this is answered
      }
      Object.assign(request, { token: verdict.token });
      return true;
    },
  };
}
