/** `protect` for route handlers of Next.js, and for other handlers that take a `Request` and return a `Response`. */
import { fromHttpResponse, takingTwo } from '@grantd/core/internal/http/http';
import { type HostProtectionOptions, hostMetadata, hostProtection } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

export type { HostProtectionOptions, PresentedCertificate } from './protection.ts';

/**
 * A handler that also receives the verified token, before the runtime's further arguments (`env` and `ctx` of a Worker,
 * `params` of Next.js).
 * @typeParam Incoming the framework's request type, such as `NextRequest`
 */
export type ProtectedHandler<Rest extends readonly unknown[], Incoming extends Request = Request> = (
  request: Incoming,
  token: VerifiedAccessToken,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Returns a function that wraps a handler. The handler runs only if the token permits the request.
 * @typeParam Seen the request type that `clientCertificate` needs
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * export const GET = protect({ tokens, scopes: ['read'] })((request, token) => Response.json({ user: token.sub }));
 */
export function protect<Seen extends Request = Request>(
  options: HostProtectionOptions<Seen>,
): <Rest extends readonly unknown[], Incoming extends Seen = Seen>(
  handler: ProtectedHandler<Rest, Incoming>,
) => (request: Incoming, ...rest: Rest) => Promise<Response> {
  const { protection, certificateOf } = hostProtection(options);
  return (handler) =>
    takingTwo(async (request, ...rest) => {
      const verdict = await protection.judgeFetched(request, certificateOf(request));
      if ('answer' in verdict) return fromHttpResponse(verdict.answer);
      return withDefaults(await handler(request, verdict.token, ...rest), verdict.headers);
    });
}

/**
 * Returns a handler that serves the API's metadata (RFC 9728). It answers all other requests with 404.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * // app/.well-known/oauth-protected-resource/[[...path]]/route.ts
 * export const GET = metadata({ tokens, scopes: ['read'] });
 * export { GET as OPTIONS };
 */
export function metadata<Seen extends Request = Request>(
  options: HostProtectionOptions<Seen>,
): (request: Request) => Response {
  const served = hostMetadata(options);
  return (request) => {
    const answer = served.metadata(request);
    return answer === undefined ? new Response(null, { status: 404 }) : fromHttpResponse(answer);
  };
}

/** Adds headers that the response lacks. Some responses cannot be changed, such as those of `fetch`, and are copied. */
function withDefaults(response: Response, headers: Readonly<Record<string, string>>): Response {
  const lacking = Object.entries(headers).filter(([name]) => !response.headers.has(name));
  if (lacking.length === 0) return response;
  const changed = new Response(response.body, response);
  for (const [name, value] of lacking) changed.headers.set(name, value);
  return changed;
}
