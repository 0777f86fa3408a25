/** `protect` for Next.js' route handlers, and for whatever else answers a `Request` with a `Response`. */
import { fromHttpResponse, takingTwo } from '@grantd/core/internal/http/fetch_response';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

/**
 * Answers a request whose token permits it; what else the host gives (`env` and `ctx` of a Worker, `params` of Next.js)
 * comes after the token.
 * @typeParam Incoming the host's own request, such as `NextRequest`
 */
export type ProtectedHandler<Rest extends readonly unknown[], Incoming extends Request = Request> = (
  request: Incoming,
  token: VerifiedAccessToken,
  ...rest: Rest
) => Response | Promise<Response>;

/** Wraps handlers, which are called for what carries a token that permits it; anything else is answered here. */
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
