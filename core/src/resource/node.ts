/** `protect` for Express, Connect and `node:http`. */
import { headersWithEveryAuthorization, type NodeHeaders } from '../protocol/node_headers.ts';
import { foundToken } from './found_token.ts';
import { Protection, type ProtectionOptions } from './protection.ts';
import { type NodeResponse, sendByNode } from './send_answer.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

export type { NodeResponse } from './send_answer.ts';

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
