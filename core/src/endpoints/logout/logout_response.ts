import type { HttpResponse } from '../../protocol/http.ts';
import { withQuery } from '../../protocol/redirect_uri.ts';
import { deliveryResponse } from '../browser_delivery.ts';
import type { LogoutRequest } from './logout_request.ts';

/**
 * Second step: the session has ended, and the browser goes back to the client (RP-Initiated Logout §3).
 * @returns `undefined` where the client named no place, and the person stays at the server
 */
export function completeLogout({
  postLogoutRedirectUri: uri,
  state,
}: Pick<LogoutRequest, 'postLogoutRedirectUri' | 'state'>): HttpResponse | undefined {
  if (uri === undefined) return undefined;
  return deliveryResponse({ redirectTo: state === undefined ? uri : withQuery(uri, { state }) });
}
