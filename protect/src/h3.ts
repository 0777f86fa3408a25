/** `protect` for h3 2. */
import { fromHttpResponse } from '@grantd/core/internal/http/http';
import { type HostProtectionOptions, hostMetadata, hostProtection } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';
import { attachedToken } from './verified_access_token.ts';

export type { HostProtectionOptions, PresentedCertificate } from './protection.ts';

/** The members of h3's event that are used. The token is stored in `context.token`. */
export interface H3Event {
  readonly req: Request;
  readonly res: { readonly headers: Headers };
  readonly context: object;
}

/**
 * Returns middleware that passes a request on if its token permits it, and otherwise answers it.
 * @typeParam Event h3's own event type, if `clientCertificate` needs more than the adapter does
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use('/api/**', protect({ tokens, scopes: ['read'] }));
 */
export function protect<Event extends H3Event = H3Event>(
  options: HostProtectionOptions<Event>,
): (event: Event, next: () => unknown) => Promise<unknown> {
  const { protection, certificateOf } = hostProtection(options);
  return async (event, next) => {
    const { req, res, context } = event;
    const verdict = await protection.judgeFetched(req, certificateOf(event));
    if ('answer' in verdict) return fromHttpResponse(verdict.answer);
    for (const [name, value] of Object.entries(verdict.headers)) res.headers.set(name, value);
    Object.assign(context, { token: verdict.token });
    return next();
  };
}

/**
 * Returns middleware that serves the API's metadata (RFC 9728), and passes on all other requests. Use it at the root, before
 * `protect`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(metadata({ tokens, scopes: ['read'] }));
 */
export function metadata<Event extends H3Event = H3Event>(
  options: HostProtectionOptions<Event>,
): (event: Event, next: () => unknown) => unknown {
  const served = hostMetadata(options);
  return ({ req }, next) => {
    const answer = served.metadata(req);
    return answer === undefined ? next() : fromHttpResponse(answer);
  };
}

/**
 * Returns the verified token of a protected request: `event.context.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf({ context }: Pick<H3Event, 'context'>): VerifiedAccessToken {
  return attachedToken('token' in context ? context.token : undefined);
}
