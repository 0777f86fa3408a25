import type { AuthorizationRequest } from '@grantd/core';
import { renderPage } from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import type { PendingRequest } from './pending_requests.ts';
import { problemText } from './views.ts';

/** A page on the way of an authorization request. */
export interface PendingPage {
  readonly pending: PendingRequest;
  /** As it is in the page's address. */
  readonly sealed: string;
  /** Checked anew: the client may have been disabled meanwhile. */
  readonly authorization: AuthorizationRequest;
  /** What people know the client by. */
  readonly clientName: string;
}

/** Opens the request that a page was called for; a page that says so where there is none. */
export async function openPendingPage(
  c: PageContext,
  { server, pendingRequests, requestLog }: PageParts,
  page: 'login' | 'consent',
): Promise<PendingPage | Response> {
  const sealed = c.req.query('pending') ?? '';
  const pending = await pendingRequests.open(sealed);
  if (pending === undefined) {
    requestLog.pageEvent({ type: 'refused', page, requestId: requestIdOf(c), reason: 'request_expired' });
    const body = problemText('This took too long, or did not begin at an application.');
    return renderPage(c, { title: 'Please start again', body, status: 400 });
  }
  const parameters = Object.fromEntries(new URLSearchParams(pending.query));
  const authorization = await server.resumeAuthorizationRequest(parameters, requestIdOf(c));
  const { client } = authorization;
  return { pending, sealed, authorization, clientName: client.name ?? client.id };
}

/** Where a form was not made for this browser, sign-in and request. */
export function refuseForeignForm(
  c: PageContext,
  { requestLog }: PageParts,
  page: 'login' | 'consent',
  clientId: string,
): Promise<Response> {
  requestLog.pageEvent({
    type: 'refused',
    page,
    requestId: requestIdOf(c),
    reason: 'form_foreign',
    clientId,
  });
  const body = problemText(
    'This form was not made for this browser, or is out of date. Cookies are needed here.',
  );
  return renderPage(c, { title: 'Please start again', body, status: 403 });
}
