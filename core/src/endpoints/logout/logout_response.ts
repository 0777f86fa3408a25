import type { HttpResponse } from '../../protocol/http.ts';
import { isUnchecked } from '../../protocol/records.ts';
import { withQuery } from '../../protocol/redirect_uri.ts';
import { deliveryResponse } from '../browser_delivery.ts';
import type { LogoutRequest } from './logout_request.ts';

/**
 * Second step: the session has ended, and the browser goes back to the client (RP-Initiated Logout §3).
 * If nobody checked the client, the response is a page that asks first.
 * @returns `undefined` if the client named no place that is registered, and the person stays at the server
 */
export function completeLogout({
  client,
  postLogoutRedirectUri: uri,
  state,
}: Pick<LogoutRequest, 'client' | 'postLogoutRedirectUri' | 'state'>): HttpResponse | undefined {
  if (uri === undefined) return undefined;
  const redirectTo = state === undefined ? uri : withQuery(uri, { state });
  return deliveryResponse({ redirectTo }, client !== undefined && isUnchecked(client));
}
