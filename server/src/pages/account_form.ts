// What every form of the account pages checks before it changes anything.
import { html } from 'hono/html';
import type { AccountChange } from '../people/account_changes.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { openAccount, toAccountPage } from './account_frame.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { AccountPageName } from './browser_state.ts';
import { PageProblem } from './error_page.ts';
import { missingOfChange } from './missing_step.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { redirectToPage, verifiedForm } from './pending_page.ts';

/** What a form changes: the same always, or by its fields. `undefined` if nothing that needs more than a session. */
type Changed = AccountChange | ((form: URLSearchParams) => AccountChange | undefined) | undefined;

/**
 * Handles a form of the account pages: the session, the form token, and whether the user has shown what the change needs.
 * Every form of a signed-in user comes through here, and says what it changes.
 * @param page where a further sign-in leads back
 */
export function accountForm(
  parts: PageParts,
  page: AccountPageName,
  changed: Changed,
  change: (c: PageContext, session: BrowserSession, form: URLSearchParams) => Promise<Response>,
) {
  return async (c: PageContext): Promise<Response> => {
    const session = await openAccount(c, parts, page);
    if (session instanceof Response) return session;
    const form = await verifiedForm(c, parts, { page: 'account', about: [session.id] });
    const what = typeof changed === 'function' ? changed(form) : changed;
    const isAsked = form.get('act') === CONFIRM;
    const owed = what && (await requireChange(c, parts, session, what, { page, isAsked }));
    if (owed !== undefined) return owed;
    return isAsked
      ? toAccountPage(c, parts, { kind: 'account', page, begunAtMs: 0 })
      : change(c, session, form);
  };
}

/** The value of `act` with which users ask to confirm who they are, before they change anything. */
const CONFIRM = 'confirm';

/** In place of a form that the user may not send yet, so that nothing is typed in vain: button `id`. */
export function confirmForm(
  { action, formToken }: { readonly action: string; readonly formToken: string },
  id: string,
  { factors: words }: Texts,
): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<p class="note">${words.confirmText}</p>
<button id="${id}" type="submit" name="act" value="${CONFIRM}">${words.confirm}</button>
</form>`;
}

/**
 * @returns a redirect to the pages that complete the sign-in, unless the user may make the change now
 * @throws {PageProblem} nothing that the user has counts yet
 */
export async function requireChange(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  change: AccountChange,
  {
    page,
    isAsked = false,
    atMs,
  }: { readonly page: AccountPageName; readonly isAsked?: boolean; readonly atMs?: number },
): Promise<Response | undefined> {
  const missing = await missingOfChange(parts, session, change, atMs);
  if (missing === undefined) return undefined;
  if (missing.step === 'wait') throw new PageProblem('account', 'factors_wait');
  if (!isAsked) {
    const reason = missing.step === 'second' ? 'sign_in_too_weak' : 'sign_in_too_old';
    const { id: sessionId, person } = session;
    const event = { type: 'refused', page: 'account', requestId: requestIdOf(c), reason } as const;
    parts.requestLog.pageEvent({ ...event, subject: person.subject, sessionId });
  }
  return toConfirm(c, parts, page, change, missing.step);
}

/** Leads through a further step, or a new sign-in, to an account page. */
export function toConfirm(
  c: PageContext,
  parts: PageParts,
  page: AccountPageName,
  change: AccountChange,
  step: 'sign_in' | 'second' = 'sign_in',
): Promise<Response> {
  const pending = { kind: 'account', page, change, begunAtMs: parts.clock() } as const;
  return redirectToPage(c, parts, step === 'second' ? 'second' : 'login', pending);
}
