import type { HttpResponse } from '../../protocol/http.ts';
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
  const query =
    state === undefined ? '' : `${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`;
  return { status: 303, headers: { location: `${uri}${query}`, 'cache-control': 'no-store' }, body: '' };
}
