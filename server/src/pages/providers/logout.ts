// Logout at a provider and from it.
import type { RequestLog } from '../../log/log.ts';
import type { NotifyClients } from '../../people/sessions.ts';
import type { ConnectedProvider } from '../../people/upstream.ts';
import type { PendingRequest } from '../browser/pending.ts';
import { bodyOf, type PageContext, requestIdOf } from '../browser/request.ts';
import { RETRY_AFTER_SECONDS } from './under_way.ts';
import { connectedIn, urlOf, type WayNeeds } from './way_to_provider.ts';

interface LogoutNeeds extends WayNeeds {
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
}

/** `POST /upstream/PROVIDER/backchannel_logout` (Back-Channel Logout §2.5, §2.8). */
export function receiveLogout(needs: LogoutNeeds) {
  return async (c: PageContext): Promise<Response> => {
    c.header('cache-control', 'no-store');
    const connected = connectedIn(c, needs);
    if (connected === undefined) return c.json({ error: 'invalid_request' }, 404);
    const provider = connected.provider.id;
    const event = { page: 'upstream', requestId: requestIdOf(c), provider } as const;
    const tokens = new URLSearchParams(bodyOf(c)).getAll('logout_token');
    try {
      const [token] = tokens;
      const ends = token && tokens.length === 1 ? await needs.upstream.logOut(connected, token) : 'used';
      if (ends === 'pending') return refuseForNow(c);
      if (ends === 'used') {
        needs.requestLog.pageEvent({ ...event, type: 'refused', reason: 'provider_answer_foreign' });
        return c.json({ error: 'invalid_request' }, 400);
      }
      for (const { id, subject } of ends)
        needs.requestLog.pageEvent({ ...event, type: 'upstream_logout', subject, sessionId: id });
      void needs.notifyClients(ends);
      return c.body(null, 200);
    } catch (cause) {
      const failure = needs.upstream.failureOf(cause);
      if (failure === undefined) throw cause;
      needs.requestLog.pageEvent({ ...event, type: 'refused', ...failure, cause });
      if (failure.reason !== 'provider_unavailable') return c.json({ error: 'invalid_request' }, 400);
      return refuseForNow(c);
    }
  };
}

/** Lets the provider send its logout token again. */
function refuseForNow(c: PageContext): Response {
  c.header('retry-after', String(RETRY_AFTER_SECONDS));
  return c.json({ error: 'temporarily_unavailable' }, 503);
}

/** Longer URLs are not safe with every provider. */
const MAX_STATE_LENGTH = 2000;

/**
 * The URL at which the user signs out of the provider, and then comes back (RP-Initiated Logout §2).
 * @returns `undefined` if the provider has none or does not answer. The user is signed out here in any case.
 */
export async function providerLogoutUrl(
  c: PageContext,
  needs: LogoutNeeds,
  { provider, client }: ConnectedProvider,
  pending: PendingRequest,
): Promise<string | undefined> {
  const state = await needs.pending.seal(pending);
  if (state === undefined || state.length > MAX_STATE_LENGTH) return undefined;
  try {
    const uri = `${urlOf(needs, provider)}/signed_out`;
    const url = await client.logoutUrl({ post_logout_redirect_uri: uri, state });
    return url?.href;
  } catch (cause) {
    const failure = needs.upstream.failureOf(cause);
    if (failure === undefined) throw cause;
    const event = { page: 'upstream', requestId: requestIdOf(c), provider: provider.id } as const;
    needs.requestLog.pageEvent({ ...event, type: 'refused', ...failure, cause });
    return undefined;
  }
}

/** `GET /upstream/PROVIDER/signed_out`: back from the provider, on the way that the logout took before. */
export function showSignedOut(needs: LogoutNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const state = c.req.query('state') ?? '';
    const pending = await needs.pending.request(state);
    if (pending?.kind !== 'logout') return c.redirect(`${needs.drawing.basePath}/logout`, 303);
    return c.redirect(`${needs.drawing.basePath}/logout?pending=${state}`, 303);
  };
}
