/** `protect` for Koa. */
import {
  closingHeaders,
  headersWithEveryAuthorization,
  type NodeHeaders,
} from '@grantd/core/internal/http/http';
import { type Answer, hostMetadata, hostProtection, type NodeProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { attachedToken } from './verified_access_token.ts';

export { tlsCertificateOf } from '@grantd/core/internal/http/http';
export type { NodeProtectionOptions, PresentedCertificate } from './protection.ts';

/** The members of Koa's context that are used. The token is stored in `state.token`. */
export interface KoaContext {
  readonly method: string;
  readonly url: string;
  /** The URL before a router removed its own path from it. */
  readonly originalUrl?: string;
  readonly req: NodeHeaders;
  readonly request: { readonly body?: unknown };
  readonly state: object;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  remove(name: string): void;
}

/**
 * Returns middleware that passes a request on if its token permits it, and otherwise answers it.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(protect({ tokens, scopes: ['read'] }));
 */
export function protect(
  options: NodeProtectionOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const { protection, certificateOf } = hostProtection(options);
  return async (context, next) => {
    const { method, originalUrl: url = context.url, req, request } = context;
    const headers = headersWithEveryAuthorization(req);
    const verdict = await protection.judge({
      method,
      url,
      headers,
      body: request.body,
      clientCertificate: certificateOf(req),
    });
    if ('answer' in verdict) return respond(context, verdict.answer);
    context.set({ ...verdict.headers });
    Object.assign(context.state, { token: verdict.token });
    await next();
  };
}

/**
 * Returns middleware that serves the API's metadata (RFC 9728), and passes on all other requests. Use it at the root, before
 * `protect`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(metadata({ tokens, scopes: ['read'] }));
 */
export function metadata(
  options: NodeProtectionOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const served = hostMetadata(options);
  return async (context, next) => {
    const { method, originalUrl: url = context.url } = context;
    const answer = served.metadata({ method, url });
    if (answer === undefined) await next();
    else respond(context, answer);
  };
}

function respond(context: KoaContext, { status, headers, body }: Answer): void {
  // If the host has set JSON for all responses, Koa would send an empty body as the text `null`.
  context.remove('content-type');
  context.body = body === '' ? null : body;
  context.status = status;
  context.set({ ...headers, ...closingHeaders(context.req) });
}

/**
 * Returns the verified token of a protected request: `context.state.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf({ state }: { readonly state: object }): VerifiedAccessToken {
  return attachedToken('token' in state ? state.token : undefined);
}
