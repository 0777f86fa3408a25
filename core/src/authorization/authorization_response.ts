// Responses of the authorization endpoint, which the browser carries to the client.
import { deliveryResponse } from '../http/browser_delivery.ts';
import type { RefusalReason } from '../http/errors.ts';
import { type ErrorCode, OAuthError } from '../http/errors.ts';
import type { BrowserDelivery, HttpResponse } from '../http/http.ts';
import { isUnchecked } from '../protocol/records.ts';
import { withQuery } from '../protocol/redirect_uri.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { AuthorizationTarget } from './target.ts';

/**
 * Errors with which a host can end an authorization (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6), with the reason
 * code for the operator.
 */
export const REASON_OF_HOST_REFUSAL = {
  access_denied: 'consent_denied',
  login_required: 'sign_in_required',
  consent_required: 'consent_required',
  interaction_required: 'interaction_required',
  account_selection_required: 'account_selection_required',
  unmet_authentication_requirements: 'acr_unmet',
  temporarily_unavailable: 'storage_unavailable',
  server_error: 'unexpected',
} as const satisfies Partial<Record<ErrorCode, RefusalReason>>;

export type AuthorizationRefusal = keyof typeof REASON_OF_HOST_REFUSAL;

/** Returns the browser to the client with a code (RFC 6749 §4.1.2). */
export function grantedAuthorization(
  context: Pick<TokenContext, 'issuer'>,
  target: AuthorizationTarget,
  code: string,
): HttpResponse {
  return deliveryResponse(deliveryOf(context, target, { code }));
}

/** Why a request was refused, by its content, the user or the host. */
export type Refusal = Pick<OAuthError, 'code' | 'description' | 'reason'> &
  Partial<Pick<OAuthError, 'value' | 'cause'>>;

/**
 * An error that the browser takes to the client (RFC 6749 §4.1.2.1). For an unchecked client, a page asks the user
 * first. A frame redirects at once, because users see the address of the framing page.
 */
export function refusedAuthorization(
  context: Pick<TokenContext, 'issuer'>,
  target: AuthorizationTarget,
  { code, description, reason, value, cause }: Refusal,
): OAuthError {
  const asksBeforeLeaving = isUnchecked(target.client) && target.isFramed !== true;
  return new OAuthError(code, description, {
    ...deliveryOf(context, target, { error: code, error_description: description }),
    status: asksBeforeLeaving || target.responseMode === 'form_post' ? 200 : 303,
    asksBeforeLeaving,
    reason,
    value,
    cause,
    clientId: target.client.id,
  });
}

/** RFC 6749 §4.1.2 with `iss` (RFC 9207 §2), in the requested response mode. */
function deliveryOf(
  { issuer }: Pick<TokenContext, 'issuer'>,
  { redirectUri, responseMode, state }: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): BrowserDelivery {
  const response = { ...parameters, ...(state !== undefined && { state }), iss: issuer };
  if (responseMode === 'form_post') return { redirectTo: redirectUri, formPost: response };
  if (responseMode === 'fragment') return { redirectTo: `${redirectUri}#${new URLSearchParams(response)}` };
  return { redirectTo: withQuery(redirectUri, response) };
}
