import type { AuthorizationRequest } from '@grantd/core';
import type { PageName } from '../log/request_log.ts';
import type { PendingAccount, PendingAuthorization, PendingRequest } from './browser_state.ts';
import { PageProblem } from './error_page.ts';
import { bodyOf, type PageContext, type PageParts, requestIdOf } from './page_parts.ts';

/** An authorization request on its way through the pages. */
export interface AuthorizationPage {
  readonly pending: PendingAuthorization;
  /** Checked anew on each page: the client may have been disabled meanwhile. */
  readonly authorization: AuthorizationRequest;
}

/** A page on the way of a request. */
export type PendingPage = (AuthorizationPage | { readonly pending: PendingAccount }) & {
  /** As it is in the page's address. */
  readonly sealed: string;
};

/**
 * Opens the request that a page was called for.
 * @throws {PageProblem} there is none
 * @throws {OAuthError} the client may not ask this any more
 */
export async function openPendingPage(
  c: PageContext,
  parts: PageParts,
  page: PageName,
): Promise<PendingPage> {
  const sealed = c.req.query('pending') ?? '';
  const pending = await parts.pendingRequests.open(sealed);
  if (pending === undefined || pending.kind === 'logout') throw new PageProblem(page, 'request_expired');
  if (pending.kind === 'account') return { pending, sealed };
  const authorization = await parts.server.resumeAuthorizationRequest(pending.parameters, requestIdOf(c));
  return { pending, authorization, sealed };
}

/** The same, of a page that is about applications alone. */
export async function openAuthorizationPage(
  c: PageContext,
  parts: PageParts,
  page: PageName,
): Promise<AuthorizationPage & { readonly sealed: string }> {
  const opened = await openPendingPage(c, parts, page);
  if (!('authorization' in opened)) throw new PageProblem(page, 'request_expired');
  return opened;
}

/** Sends the browser to a page of this server with a request. */
export async function sendOn(
  c: PageContext,
  { pendingRequests, basePath }: PageParts,
  page: PageName,
  pending: PendingRequest,
): Promise<Response> {
  const sealed = await pendingRequests.seal(pending);
  if (sealed === undefined) throw new PageProblem(page, 'request_too_long');
  return c.redirect(`${basePath}/${page}?pending=${sealed}`, 303);
}

/**
 * The fields of a form that this server made for this browser.
 * @param about what the form's token was made for
 * @throws {PageProblem} it was not
 */
export async function ownForm(
  c: PageContext,
  { formTokens }: PageParts,
  { page, about, clientId }: { page: PageName; about: readonly string[]; clientId?: string | undefined },
): Promise<URLSearchParams> {
  const form = new URLSearchParams(bodyOf(c));
  const token = form.get('form_token') ?? undefined;
  if (!(await formTokens.isFrom(c, token, page, ...about)))
    throw new PageProblem(page, 'form_foreign', clientId);
  return form;
}
