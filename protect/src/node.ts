import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import { type NodeResponse, Protection, type ProtectionOptions, sendByNode } from './protection.ts';
import { foundToken, type VerifiedAccessToken } from './verified_access_token.ts';

/** `protect` for Express, Connect and `node:http`. */

export type { NodeResponse } from './protection.ts';

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
