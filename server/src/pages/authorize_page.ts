import { bodyOf, toResponse } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { isRecentEnough } from './pending_requests.ts';

/** `/authorize` (RFC 6749 §3.1): sends the person to sign in or to consent. */
export function authorizePage({ server, sessions, pendingRequests, basePath }: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const authorization = await server.validateAuthorizationRequest(c.get('plain'));

    // Another site's form comes without our cookies; the same request as an address comes with them.
    if (c.req.method === 'POST')
      return c.redirect(`${basePath}/authorize?${new URLSearchParams(bodyOf(c))}`, 303);

    const query = new URLSearchParams(authorization.parameters).toString();
    const pending = { query, begunAtMs: Date.now() };
    const session = await sessions.current(c);
    const isSignedIn = session !== undefined && isRecentEnough(session, authorization, pending);

    // OpenID Connect Core §3.1.2.1: no page at all. Consent is asked for each time, so it never goes without one.
    if (authorization.prompt.includes('none')) {
      const code = isSignedIn ? 'consent_required' : 'login_required';
      return toResponse(
        server.refuseAuthorization(authorization, code, 'a page would have to be shown', requestIdOf(c)),
      );
    }
    const next = isSignedIn ? 'consent' : 'login';
    return c.redirect(`${basePath}/${next}?pending=${await pendingRequests.seal(pending)}`, 303);
  };
}
