/** `protect` for whatever answers a `Request` with a `Response`. */
import { fromHttpResponse } from '../protocol/fetch_response.ts';
import { Protection, type ProtectionOptions } from './protection.ts';
import type { VerifiedAccessToken } from './verified_access_token.ts';

/** Answers a request whose token permits it; what else the runtime gives (`env`, `ctx`) comes after the token. */
export type ProtectedHandler<Rest extends readonly unknown[]> = (
  request: Request,
  token: VerifiedAccessToken,
  ...rest: Rest
) => Response | Promise<Response>;

/** Wraps handlers, which are called for what carries a token that permits it; anything else is answered here. */
export function protect(
  options: ProtectionOptions,
): <Rest extends readonly unknown[]>(
  handler: ProtectedHandler<Rest>,
) => (request: Request, ...rest: Rest) => Promise<Response> {
  const protection = new Protection(options);
  return (handler) =>
    async (request, ...rest) => {
      const { method, url, headers } = request;
      const verdict = await protection.judge({ method, url, headers: Object.fromEntries(headers) });
      return 'answer' in verdict
        ? fromHttpResponse(verdict.answer)
        : handler(request, verdict.token, ...rest);
    };
}
