// The authorization endpoint.
import type { AuthorizationPage, PendingPage, PendingPages } from '../browser/pending.ts';
import { type PageContext, PageProblem } from '../browser/request.ts';
import type { BrowserSessions } from '../browser/sessions.ts';
import type { Drawing } from '../drawing/drawing.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import type { Flow } from '../steps/routes.ts';

interface AuthorizeNeeds {
  readonly pending: PendingPages;
  readonly browserSessions: BrowserSessions;
  readonly authorization: AuthorizationSteps;
  readonly drawing: Pick<Drawing, 'basePath'>;
  readonly showLogin: (c: PageContext, page: PendingPage) => Promise<Response>;
}

/**
 * `/authorize` (RFC 6749 §3.1): returns to the client if no page is needed, shows the sign-in page if no user is signed
 * in, and else redirects to the next page. With `pending`, continues a request that was validated before.
 */
export function authorizeFlow(needs: AuthorizeNeeds): Flow {
  const { authorization, browserSessions, pending } = needs;
  return {
    mount(routes) {
      routes.all('/authorize', async (c: PageContext): Promise<Response> => {
        // Clients may send parameters that this server does not know (RFC 6749 §3.1).
        if (c.req.method !== 'POST' && c.req.query('pending') && !c.req.query('client_id')) {
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
        const isPageNeeded = session === undefined && !page.authorization.prompt.includes('none');
        return isPageNeeded ? showLogin(c, needs, page) : authorization.proceed(c, page, session);
      });
    },
  };
}

/** Shows the sign-in page without a redirect, with the links that it has at its own address (ADR 211). */
async function showLogin(c: PageContext, needs: AuthorizeNeeds, page: AuthorizationPage): Promise<Response> {
  const sealed = await needs.pending.seal(page.pending);
  if (sealed === undefined) throw new PageProblem('login', 'request_too_long');
  c.set('ownAddress', `${needs.drawing.basePath}/login?pending=${sealed}`);
  return needs.showLogin(c, { ...page, sealed });
}
