/** `protect` for Hono. */
import { fromHttpResponse } from '@grantd/core/internal/http/fetch_response';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { foundToken } from './verified_access_token.ts';

/** What is used of the framework's context; the token is left under `token`. */
export interface HonoContext {
  readonly req: { readonly raw: Request };
  set(name: 'token', token: VerifiedAccessToken): void;
}

/** A middleware that lets through what carries a token which permits it, and answers anything else. */
export function protect(
  options: ProtectionOptions,
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const protection = new Protection(options);
  return async (context, next) => {
    const verdict = await protection.judgeFetched(context.req.raw);
    if ('answer' in verdict) return fromHttpResponse(verdict.answer);
    context.set('token', verdict.token);
    await next();
    return undefined;
  };
}

/**
 * What the token of a request that was let through permits: `context.get('token')`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf(context: { get(name: string): unknown }): VerifiedAccessToken {
  return foundToken(context.get('token'));
}
