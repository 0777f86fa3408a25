import type { HttpResponse } from '../protocol/http.ts';
import { type ErrorCode, OAuthError } from '../protocol/oauth_error.ts';
import type { ReasonCode, RefusalReason } from '../protocol/reasons.ts';
import type { AuthorizationTarget } from './authorization_target.ts';
import type { Context } from './context.ts';

/** Why a host ends an authorization (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6), and what the operator reads of it. */
export const REASON_OF_HOST_REFUSAL = {
  access_denied: 'consent_denied',
  login_required: 'sign_in_required',
  consent_required: 'consent_required',
  interaction_required: 'interaction_required',
  temporarily_unavailable: 'storage_unavailable',
  server_error: 'unexpected',
} as const satisfies Partial<Record<ErrorCode, RefusalReason>>;

export type AuthorizationRefusal = keyof typeof REASON_OF_HOST_REFUSAL;

/** The person comes back to the client with a code (RFC 6749 §4.1.2). */
export function grantedAuthorization(
  context: Context,
  target: AuthorizationTarget,
  code: string,
): HttpResponse {
  const location = responseUri(context, target, { code });
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: '' };
}

/** An error that goes back to the client by redirect (RFC 6749 §4.1.2.1). */
export function refusedAuthorization(
  context: Context,
  target: AuthorizationTarget,
  code: ErrorCode,
  description: string,
  reason: ReasonCode,
): OAuthError {
  return new OAuthError(code, description, {
    status: 303,
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
