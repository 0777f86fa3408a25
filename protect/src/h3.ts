/** `protect` for h3 2. */
import { fromHttpResponse } from '@grantd/core/internal/http/fetch_response';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { foundToken } from './verified_access_token.ts';

/** What is used of h3's event; the token is left in `context.token`. */
export interface H3Event {
  readonly req: Request;
  readonly context: object;
}

/** A middleware that lets through what carries a token which permits it, and answers anything else. */
export function protect(
  options: ProtectionOptions,
): (event: H3Event, next: () => unknown) => Promise<unknown> {
  const protection = new Protection(options);
  return async ({ req, context }, next) => {
    const verdict = await protection.judgeFetched(req);
    if ('answer' in verdict) return fromHttpResponse(verdict.answer);
    Object.assign(context, { token: verdict.token });
    return next();
  };
}

/**
 * What the token of a request that was let through permits: `event.context.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf({ context }: Pick<H3Event, 'context'>): VerifiedAccessToken {
  return foundToken('token' in context ? context.token : undefined);
}
