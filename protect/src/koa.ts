/** `protect` for Koa. */
import {
  closingHeaders,
  headersWithEveryAuthorization,
  type NodeHeaders,
} from '@grantd/core/internal/http/http';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { foundToken } from './verified_access_token.ts';

/** What is used of the framework's context; the token is left in `state.token`. */
export interface KoaContext {
  readonly method: string;
  readonly url: string;
  readonly req: NodeHeaders;
  readonly request: { readonly body?: unknown };
  readonly state: object;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  remove(name: string): void;
}

/** A middleware that lets through what carries a token which permits it, and answers anything else. */
export function protect(
  options: ProtectionOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const protection = new Protection(options);
  return async (context, next) => {
    const { method, url, req, request } = context;
    const headers = headersWithEveryAuthorization(req);
    const verdict = await protection.judge({ method, url, headers, body: request.body });
    if ('answer' in verdict) {
      const { answer } = verdict;
      // Koa would give an empty text a type, and where the host has said JSON make the text `null` of no body.
      context.remove('content-type');
      context.body = answer.body === '' ? null : answer.body;
      context.status = answer.status;
      context.set({ ...answer.headers, ...closingHeaders(req) });
      return;
    }
    Object.assign(context.state, { token: verdict.token });
    await next();
  };
}

/**
 * What the token of a request that was let through permits: `context.state.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf({ state }: { readonly state: object }): VerifiedAccessToken {
  return foundToken('token' in state ? state.token : undefined);
}
