import type { BrowserSession } from './browser_sessions.ts';
import { renderPage } from './layout.ts';
import { bodyOf, toResponse } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { openPendingPage, type PendingPage, refuseForeignForm } from './pending_page.ts';
import { isRecentEnough } from './pending_requests.ts';
import { consentPage } from './views/consent.ts';

/** `GET /consent`: the question. */
export function showConsent(parts: PageParts) {
  const { formTokens, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openSignedIn(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, clientName, session } = opened;
    const view = {
      action: `${basePath}/consent?pending=${sealed}`,
      formToken: await formTokens.make(c, 'consent', sealed, session.id),
      application: { name: clientName },
      person: { name: session.person.name },
      access: { scopes: authorization.scopes },
      changePerson: `${basePath}/login?pending=${sealed}`,
    };
    const page = consentPage(view, pageSetting(c, parts, authorization.uiLocales?.split(' ')));
    return renderPage(c, { ...page, formLeadsTo: authorization.redirectUri });
  };
}

/** `POST /consent`: back to the client, with a code or without. */
export function submitConsent(parts: PageParts) {
  const { server, formTokens, requestLog } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openSignedIn(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const clientId = authorization.client.id;
    const form = new URLSearchParams(bodyOf(c));
    if (!(await formTokens.isFrom(c, form.get('form_token') ?? undefined, 'consent', sealed, session.id))) {
      return refuseForeignForm(c, parts, 'consent', clientId);
    }

    const { subject, name } = session.person;
    const requestId = requestIdOf(c);
    if (form.get('decision') !== 'allow') {
      return toResponse(
        server.refuseAuthorization(authorization, 'access_denied', 'the person denied access', requestId),
      );
    }
    const approval = {
      subject,
      username: name,
      authTime: Math.floor(session.signedInAtMs / 1000),
      amr: ['pwd'],
      sessionId: session.id,
    };
    const answer = await server.completeAuthorization(authorization, approval, requestId);
    requestLog.pageEvent({ type: 'consent_given', page: 'consent', requestId, clientId, subject });
    return toResponse(answer);
  };
}

/** The request with the session of the person who answers it; the way to the sign-in form where there is none. */
async function openSignedIn(
  c: PageContext,
  parts: PageParts,
): Promise<(PendingPage & { readonly session: BrowserSession }) | Response> {
  const page = await openPendingPage(c, parts, 'consent');
  if (page instanceof Response) return page;
  const session = await parts.sessions.current(c);
  if (session !== undefined && isRecentEnough(session, page.authorization, page.pending))
    return { ...page, session };
  return c.redirect(`${parts.basePath}/login?pending=${page.sealed}`, 303);
}
