import { goOn } from './authorization_steps.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { openAuthorizationPage, sendOn } from './pending_page.ts';
import type { PendingAuthorization } from './pending_requests.ts';

/**
 * `/authorize` (RFC 6749 §3.1): back to the client where nothing has to be asked, else on to the page that asks. With
 * `pending` it goes on with a request that was checked here before.
 */
export function authorizePage(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    if (c.req.query('pending') !== undefined && c.req.method === 'GET') {
      const page = await openAuthorizationPage(c, parts, 'authorize');
      return goOn(c, parts, page, await parts.browserSessions.current(c));
    }
    const authorization = await parts.server.validateAuthorizationRequest(c.get('plain'));
    const { parameters } = authorization;
    const pending: PendingAuthorization = { kind: 'authorization', parameters, begunAtMs: parts.clock() };

    // Another site's form comes without our cookies; the same request as an address comes with them.
    if (c.req.method === 'POST') return sendOn(c, parts, 'authorize', pending);
    return goOn(c, parts, { pending, authorization }, await parts.browserSessions.current(c));
  };
}
