import type { AuthorizationRequest } from '@grantd/core';
import type { PageName } from '../log/log.ts';
import type { PendingAccount, PendingAuthorization, PendingRequest } from './browser_state.ts';
import { PageProblem } from './error_page.ts';
import { bodyOf, type PageContext, type PageParts, requestIdOf } from './page_parts.ts';

/** An authorization request on its way through the pages. */
export interface AuthorizationPage {
  readonly pending: PendingAuthorization;
  /** Validated again on each page, because the client may have been disabled. */
  readonly authorization: AuthorizationRequest;
}

/** A page with a pending request. */
export type PendingPage = (AuthorizationPage | { readonly pending: PendingAccount }) & {
  /** The sealed value in the page’s URL. */
  readonly sealed: string;
};

/**
 * Opens a page’s pending request.
 * @throws {PageProblem} there is none that started here
 * @throws {OAuthError} the client may no longer make this request
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
  const authorization = await parts.server.authorization.resume(pending.parameters, requestIdOf(c));
  return { pending, authorization, sealed };
}

/** Like `openPendingPage`, for pages that only serve authorization requests. */
export async function openAuthorizationPage(
  c: PageContext,
  parts: PageParts,
  page: PageName,
): Promise<AuthorizationPage & { readonly sealed: string }> {
  const opened = await openPendingPage(c, parts, page);
  if (!('authorization' in opened)) throw new PageProblem(page, 'request_expired');
  return opened;
}

/** Redirects the browser to a page with a pending request. */
export async function redirectToPage(
  c: PageContext,
  { pendingRequests, basePath }: PageParts,
  page: PageName,
  pending: PendingRequest,
): Promise<Response> {
  const sealed = await pendingRequests.seal(pending);
  if (sealed === undefined) throw new PageProblem(page, 'request_too_long');
  const path = page === 'authorization' ? 'authorize' : page === 'second' ? 'login/second' : page;
  return c.redirect(`${basePath}/${path}?pending=${sealed}`, 303);
}

/**
 * Reads a form and verifies that this server made it for this browser.
 * @param about the purpose for which the form token was made
 * @throws {PageProblem} the token does not match
 */
export async function verifiedForm(
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
