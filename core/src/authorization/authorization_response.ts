// Responses of the authorization endpoint, which the browser carries to the client.

import { isUnchecked } from '../clients/client.ts';
import { deliveryResponse } from '../http/browser_delivery.ts';
import { type ErrorCode, OAuthError, type RefusalReason } from '../http/errors.ts';
import type { BrowserDelivery, HttpResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { RESPONSE_MODES } from '../protocol/authorization_parameters.ts';
import { withQuery } from '../protocol/redirect_uri.ts';
import { type AnswerContext, answerJwt, registeredEncryption } from '../tokens/answer_jwt.ts';
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

/** What responses need. */
type ResponseContext = Pick<TokenContext, 'issuer' | 'clock'> & AnswerContext;

/**
 * Returns the browser to the client with a code (RFC 6749 §4.1.2; ADR 72).
 * @throws {OAuthError | DocumentError} as `responseJwt`
 */
export async function grantedAuthorization(
  context: ResponseContext,
  target: AuthorizationTarget,
  code: string,
): Promise<HttpResponse> {
  return deliveryResponse(await deliveryOf(context, target, { code }));
}

/** Why a request was refused, by its content, the user or the host. */
export type Refusal = Pick<OAuthError, 'code' | 'description' | 'reason'> &
  Partial<Pick<OAuthError, 'value' | 'cause'>>;

/**
 * An error that the browser takes to the client (RFC 6749 §4.1.2.1). For an unchecked client, a page asks the user
 * first. A frame redirects at once, because users see the address of the framing page.
 * @throws {OAuthError | DocumentError} as `responseJwt`
 */
export async function refusedAuthorization(
  context: ResponseContext,
  target: AuthorizationTarget,
  { code, description, reason, value, cause }: Refusal,
): Promise<OAuthError> {
  const asksBeforeLeaving = isUnchecked(target.client) && target.isFramed !== true;
  const delivery = await deliveryOf(context, target, { error: code, error_description: description });
  return new OAuthError(code, description, {
    ...delivery,
    status: asksBeforeLeaving || delivery.formPost !== undefined ? 200 : 303,
    asksBeforeLeaving,
    reason,
    value,
    cause,
    clientId: target.client.id,
  });
}

/** RFC 6749 §4.1.2 with `iss` (RFC 9207 §2), in the requested response mode. */
async function deliveryOf(
  context: ResponseContext,
  { client, redirectUri, responseMode, state }: AuthorizationTarget,
  parameters: Readonly<Record<string, string>>,
): Promise<BrowserDelivery> {
  const { carrier, isJwt } = RESPONSE_MODES[responseMode];
  const members = { ...parameters, ...(state !== undefined && { state }), iss: context.issuer };
  const response = isJwt ? { response: await responseJwt(context, client, members) } : members;
  if (carrier === 'form_post') return { redirectTo: redirectUri, formPost: response };
  if (carrier === 'fragment') return { redirectTo: `${redirectUri}#${new URLSearchParams(response)}` };
  return { redirectTo: withQuery(redirectUri, response) };
}

/**
 * Seconds. Longer than a code, for clients whose clock is ahead; JARM §2.1 recommends at most ten minutes.
 */
const RESPONSE_JWT_LIFETIME = 5 * 60;

/**
 * The response as a JWT for the client (JARM §2.1, §2.2). It never has less protection than registered: a response that
 * cannot be signed or encrypted is an error at this server.
 * @throws {OAuthError | DocumentError} as `answerJwt`
 */
function responseJwt(
  context: ResponseContext,
  client: AuthorizationTarget['client'],
  members: Readonly<Record<string, string>>,
): Promise<string> {
  const exp = secondsOf(context.clock()) + RESPONSE_JWT_LIFETIME;
  const { metadata = {} } = client;
  return answerJwt(
    context,
    client,
    { ...members, aud: client.id, exp },
    {
      signing: { type: 'JWT', algorithm: metadata.authorization_signed_response_alg },
      encryption: registeredEncryption(
        metadata.authorization_encrypted_response_alg,
        metadata.authorization_encrypted_response_enc,
      ),
    },
  );
}
