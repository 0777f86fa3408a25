import type { HttpResponse } from '../protocol/http.ts';
import { type ErrorCode, OAuthError } from '../protocol/oauth_error.ts';
import type { RefusalReason } from '../protocol/reasons.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Context } from './context.ts';

/** Where the answer to an authorization request goes. */
export interface AuthorizationTarget {
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly state?: string;
}

/** The person comes back to the client with a code (RFC 6749 §4.1.2). */
export function grantedAuthorization(
  context: Context,
  target: AuthorizationTarget,
  code: string,
): HttpResponse {
  const location = responseUri(context, target, { code });
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: '' };
}

/**
 * The refusal that a host throws or renders when the person said no, or could not be asked.
 * @param code `access_denied`, or by OpenID Connect Core §3.1.2.6 `login_required` and the like
 */
export function refusedAuthorization(
  context: Context,
  target: AuthorizationTarget,
  code: ErrorCode,
  description: string,
  reason: RefusalReason = 'parameter_invalid',
): OAuthError {
  return new OAuthError(code, description, {
    reason,
    clientId: target.client.id,
    redirectTo: responseUri(context, target, { error: code, error_description: description }),
  });
}

/** RFC 6749 §4.1.2 with `iss` (RFC 9207 §2). */
function responseUri(
  { issuer }: Context,
  { redirectUri, state }: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({ ...parameters, ...(state !== undefined && { state }), iss: issuer });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`;
}
