import { readForm, requireParameter } from '../protocol/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import { authenticateClient } from './client_authentication/authenticate_client.ts';
import type { Call, Context } from './context.ts';
import { grantOf } from './grants/grants.ts';
import { reportAudience } from './resource.ts';

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
