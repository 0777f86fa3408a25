/** `protect` for NestJS, on its Express and its Fastify platform. */
import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import {
  type FastifyReply,
  hostProtection,
  type NodeProtectionOptions,
  type NodeResponse,
  sendByFastify,
  sendByNode,
  setByNode,
} from './protection.ts';

export { metadata, tlsCertificateOf, tokenOf } from './node.ts';
export type {
  FastifyReply,
  NodeProtectionOptions,
  NodeResponse,
  PresentedCertificate,
} from './protection.ts';

/** The members of the request that are used. The token is stored in `token`. */
export type NestRequest = {
  readonly method: string;
  readonly url: string;
  /** The URL before a router removed its own path from it. */
  readonly originalUrl?: string;
  readonly body?: unknown;
} & (NodeHeaders | { readonly raw: NodeHeaders });

/** The members of Nest's `ExecutionContext` that are used. */
export interface NestContext {
  switchToHttp(): { getRequest(): NestRequest; getResponse(): NodeResponse | FastifyReply };
}

/** A guard object for `@UseGuards` and `app.useGlobalGuards`. */
export interface NestGuard {
  canActivate(context: NestContext): Promise<boolean>;
}

/**
 * Returns a guard that admits a request if its token permits it, and otherwise answers it. Forwarded errors go to
 * exception filters.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * @UseGuards(protect({ tokens, scopes: ['read'] }))
 */
export function protect(options: NodeProtectionOptions): NestGuard {
  const { protection, certificateOf } = hostProtection(options);
  return {
    async canActivate(context) {
      const http = context.switchToHttp();
      const request = http.getRequest();
      const { method, originalUrl: url = request.url, body } = request;
      const plain = 'raw' in request ? request.raw : request;
      const headers = headersWithEveryAuthorization(plain);
      const verdict = await protection.judge({
        method,
        url,
        headers,
        body,
        clientCertificate: certificateOf(plain),
      });
      const response = http.getResponse();
      if ('answer' in verdict) {
        if ('writeHead' in response) sendByNode(plain, response, verdict.answer);
        else sendByFastify(plain, response, verdict.answer);
        return new Promise<never>(() => {}); // never settles: otherwise Nest would answer a second time
      }
      if ('writeHead' in response) setByNode(response, verdict.headers);
      else response.headers(verdict.headers);
      Object.assign(request, { token: verdict.token });
      return true;
    },
  };
}
