/** `protect` for route handlers of Next.js, and for other handlers that take a `Request` and return a `Response`. */
import { fromHttpResponse, takingTwo } from '@grantd/core/internal/http/fetch_response';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

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
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * export const GET = protect({ tokens, scopes: ['read'] })((request, token) => Response.json({ user: token.sub }));
 */
export function protect(
  options: ProtectionOptions,
): <Rest extends readonly unknown[], Incoming extends Request = Request>(
  handler: ProtectedHandler<Rest, Incoming>,
) => (request: Incoming, ...rest: Rest) => Promise<Response> {
  const protection = new Protection(options);
  return (handler) =>
    takingTwo(async (request, ...rest) => {
      const verdict = await protection.judgeFetched(request);
      return 'answer' in verdict
        ? fromHttpResponse(verdict.answer)
        : handler(request, verdict.token, ...rest);
    });
}
