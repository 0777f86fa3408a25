// The authorization endpoint.
import type { PendingPages } from '../browser/pending.ts';
import type { PageContext } from '../browser/request.ts';
import type { BrowserSessions } from '../browser/sessions.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import type { Flow } from '../steps/routes.ts';

interface AuthorizeNeeds {
  readonly pending: PendingPages;
  readonly browserSessions: BrowserSessions;
  readonly authorization: AuthorizationSteps;
}

/**
 * `/authorize` (RFC 6749 §3.1): returns to the client if no page is needed, else continues to the next page. With
 * `pending`, continues a request that was validated before.
 */
export function authorizeFlow({ authorization, browserSessions, pending }: AuthorizeNeeds): Flow {
  return {
    mount(routes) {
      routes.all('/authorize', async (c: PageContext): Promise<Response> => {
        if (c.req.query('pending') !== undefined && c.req.method !== 'POST') {
          const page = await pending.open(c, 'authorization');
          if (!('authorization' in page)) return pending.continue(c, page.pending);
          if (c.req.method === 'HEAD') return pending.redirect(c, 'authorization', page.pending);
          return authorization.proceed(c, page, await browserSessions.current(c));
        }
        // A form of another site arrives without cookies. After a redirect, the browser sends them. A `HEAD` gets no code.
        if (c.req.method !== 'GET')
          return pending.redirect(c, 'authorization', (await authorization.begin(c)).pending);
        // Together, so that they share a read transaction.
        const [page, session] = await Promise.all([authorization.begin(c), browserSessions.current(c)]);
        return authorization.proceed(c, page, session);
      });
    },
  };
}
