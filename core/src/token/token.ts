// § refers to RFC 6749.
import { reportAudience } from '../clients/access.ts';
import { authenticateClient } from '../clients/authentication.ts';
import type { Context } from '../context.ts';
import { OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { readForm, requireParameter } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { GRANT_TYPES, type GrantType } from '../protocol/records.ts';
import { authorizationCode } from './authorization_code.ts';
import { clientCredentials } from './client_credentials.ts';
import { refreshToken } from './refresh_token.ts';
import type { Grant } from './token_response.ts';

/** `POST /token` (RFC 6749 §3.2). */
export async function token(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse> {
  // §3.2 the request, and who asks
  const form = readForm(request);
  const client = await authenticateClient(context, request, form, call);
  reportAudience(context, form, call);
  const grantType = requireParameter(form, 'grant_type');

  // §5.2 what the client may ask for
  const grant = grantOf(grantType);
  if (grant === undefined) {
    throw new OAuthError('unsupported_grant_type', 'the grant_type is not supported', {
      reason: 'grant_unknown',
      value: grantType,
    });
  }
  if (!client.grantTypes.some((allowed) => allowed === grantType)) {
    throw new OAuthError('unauthorized_client', 'the client may not use this grant_type', {
      reason: 'grant_not_allowed',
      value: grantType,
    });
  }

  // §5.1 the answer
  return jsonResponse(await grant(context, client, form, call));
}

const GRANTS: Readonly<Record<GrantType, Grant>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
};

/** The grant of a `grant_type` parameter; `undefined` where the server has none such. */
function grantOf(grantType: string): Grant | undefined {
  const known = GRANT_TYPES.find((one) => one === grantType);
  return known && GRANTS[known];
}
