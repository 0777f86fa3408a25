/** `protect` for Hono. */
import { fromHttpResponse } from '@grantd/core/internal/http/http';
import { type HostProtectionOptions, hostMetadata, hostProtection } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { attachedToken } from './verified_access_token.ts';

export type { HostProtectionOptions, PresentedCertificate } from './protection.ts';

/** The members of Hono's context that are used. The token is stored under `token`. */
export interface HonoContext {
  readonly req: { readonly raw: Request };
  readonly res: Response;
  header(name: string, value: string): void;
  set(name: 'token', token: VerifiedAccessToken): void;
}

/**
 * Returns middleware that passes a request on if its token permits it, and otherwise answers it.
 * @typeParam Context Hono's own context type, if `clientCertificate` needs more than the adapter does
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use('/api/*', protect({ tokens, scopes: ['read'] }));
 */
export function protect<Context extends HonoContext = HonoContext>(
  options: HostProtectionOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const { protection, certificateOf } = hostProtection(options);
  return async (context, next) => {
    const verdict = await protection.judgeFetched(context.req.raw, certificateOf(context));
    if ('answer' in verdict) return fromHttpResponse(verdict.answer);
    context.set('token', verdict.token);
    await next();
    for (const [name, value] of Object.entries(verdict.headers))
      if (!context.res.headers.has(name)) context.header(name, value);
    return undefined;
  };
}

/**
 * Returns middleware that serves the API's metadata (RFC 9728), and passes on all other requests. Use it at the root, before
 * `protect`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(metadata({ tokens, scopes: ['read'] }));
 */
export function metadata<Context extends HonoContext = HonoContext>(
  options: HostProtectionOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const served = hostMetadata(options);
  return async ({ req }, next) => {
    const answer = served.metadata(req.raw);
    if (answer !== undefined) return fromHttpResponse(answer);
    await next();
    return undefined;
  };
}

/**
 * Returns the verified token of a protected request: `context.get('token')`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf(context: { get(name: string): unknown }): VerifiedAccessToken {
  return attachedToken(context.get('token'));
}
