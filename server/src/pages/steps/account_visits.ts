// What every page of a signed-in user checks: that there is a session, and before a change, that the user has shown enough.
import { isJsonObject } from '@grantd/core/options';
import type { RequestLog } from '../../log/log.ts';
import type { AccountChange } from '../../people/account_changes.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { SealedValues } from '../browser/cookies.ts';
import type { FormTokens } from '../browser/forms.ts';
import {
  type AccountPageName,
  type PendingAccount,
  type PendingPages,
  pathOfAccountPage,
} from '../browser/pending.ts';
import { type PageContext, PageProblem, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';

/** The account page that a request is for. */
export type Wanted = Pick<PendingAccount, 'page' | 'below'>;

/** What a form changes: the same always, or by its fields. `undefined` if nothing that needs more than a session. */
type Changed = AccountChange | ((form: URLSearchParams) => AccountChange | undefined) | undefined;

/** The value of `act` with which users ask to confirm who they are, before they change anything. */
export const CONFIRM = 'confirm';

interface Needs {
  readonly browserSessions: BrowserSessions;
  readonly formTokens: FormTokens;
  readonly pending: PendingPages;
  readonly missing: MissingSteps;
  /** Seals notices about the result of an action. */
  readonly notices: SealedValues;
  readonly requestLog: Pick<RequestLog, 'pageEvent'>;
  /** Path of the issuer, without a trailing slash. */
  readonly basePath: string;
  readonly clock: () => number;
}

export class AccountVisits {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** @returns the session, or a redirect to the sign-in page, which leads back to this page */
  async open(c: PageContext, page: AccountPageName | Wanted): Promise<BrowserSession | Response> {
    const { browserSessions, pending: pages, missing } = this.#needs;
    const session = await browserSessions.current(c);
    const pending = this.#pending(typeof page === 'string' ? { page } : page);
    if (session === undefined || !missing.takes(session)) return pages.redirect(c, 'login', pending);
    const step = (await missing.of(session.person, session.amr, { pending }))?.step;
    return step === 'second' ? pages.redirect(c, 'second', pending) : session;
  }

  /** Who is signed in, without a look at what a page needs. */
  current(c: PageContext): Promise<BrowserSession | undefined> {
    return this.#needs.browserSessions.current(c);
  }

  /**
   * Handles a form of the account pages: the session, the form token, and whether the user has shown what the change
   * needs. Every form of a signed-in user comes through here, and says what it changes.
   * @param page where a further sign-in leads back
   */
  form(
    page: AccountPageName,
    changed: Changed,
    change: (c: PageContext, session: BrowserSession, form: URLSearchParams) => Promise<Response>,
  ) {
    return async (c: PageContext): Promise<Response> => {
      const session = await this.open(c, page);
      if (session instanceof Response) return session;
      const form = await this.#needs.formTokens.verified(c, { page: 'account', about: [session.id] });
      const what = typeof changed === 'function' ? changed(form) : changed;
      const isAsked = form.get('act') === CONFIRM;
      const owed = what && (await this.requireChange(c, session, what, { page, isAsked }));
      if (owed !== undefined) return owed;
      return isAsked ? this.#needs.pending.continue(c, { page }) : change(c, session, form);
    };
  }

  /**
   * @returns a redirect to the pages that complete the sign-in, unless the user may make the change now
   * @throws {PageProblem} nothing that the user has counts yet
   */
  async requireChange(
    c: PageContext,
    session: BrowserSession,
    change: AccountChange,
    {
      page,
      isAsked = false,
      atMs,
    }: { readonly page: AccountPageName; readonly isAsked?: boolean; readonly atMs?: number },
  ): Promise<Response | undefined> {
    const missing = await this.#needs.missing.ofChange(session, change, atMs);
    if (missing === undefined) return undefined;
    if (missing.step === 'wait') throw new PageProblem('account', 'factors_wait');
    if (!isAsked) {
      const reason = missing.step === 'second' ? 'sign_in_too_weak' : 'sign_in_not_recent';
      const { id: sessionId, person } = session;
      const event = { type: 'refused', page: 'account', requestId: requestIdOf(c), reason } as const;
      this.#needs.requestLog.pageEvent({ ...event, subject: person.subject, sessionId });
    }
    const step = missing.step === 'second' ? 'second' : 'login';
    return this.#needs.pending.redirect(c, step, this.#pending({ page, change }));
  }

  /** A new sign-in, also for a signed-in user, and then an account page. */
  async toNewSignIn(
    c: PageContext,
    wanted: Pick<PendingAccount, 'page' | 'below' | 'change'>,
  ): Promise<Response> {
    const sealed = (await this.#needs.pending.seal(this.#pending({ ...wanted, isFresh: true }))) ?? '';
    return c.redirect(`${this.#needs.basePath}/login?pending=${sealed}&other`, 303);
  }

  /** Leads to the page on which the user adds a factor, and back to an account page. */
  async toEnrolment(c: PageContext, wanted: Wanted): Promise<Response> {
    const sealed = (await this.#needs.pending.seal(this.#pending(wanted))) ?? '';
    return c.redirect(`${this.#needs.basePath}/account/security?pending=${sealed}`, 303);
  }

  /** Shows the page again after an action, with its result. */
  async show(
    c: PageContext,
    session: BrowserSession,
    page: AccountPageName,
    notice: AccountNotice | 'signed_out',
  ): Promise<Response> {
    const { notices, basePath } = this.#needs;
    if (notice === 'signed_out') return c.redirect(`${basePath}/logout`, 303); // shows the signed-out page
    const sealed = await sealNotice(notices, notice, session.id);
    return c.redirect(`${basePath}${pathOfAccountPage(page)}?notice=${sealed}`, 303);
  }

  /** The result of the last action, which a page shows. */
  notice(c: PageContext, session: BrowserSession): Promise<AccountNotice | undefined> {
    return openNotice(this.#needs.notices, c.req.query('notice'), session.id);
  }

  #pending(wanted: Omit<PendingAccount, 'kind' | 'begunAtMs'>): PendingAccount {
    return { ...wanted, kind: 'account', begunAtMs: this.#needs.clock() };
  }
}

/** Seals a notice for the page URL. It is bound to the session, because anyone can make up a URL. */
export function sealNotice(notices: SealedValues, notice: AccountNotice, sessionId: string): Promise<string> {
  return notices.seal({ notice, sessionId });
}

/** @returns `undefined` if there is no notice, or it was not sealed here for this session */
export async function openNotice(
  notices: SealedValues,
  sealed: string | undefined,
  sessionId: string,
): Promise<AccountNotice | undefined> {
  const value = sealed === undefined ? undefined : await notices.open(sealed);
  return isJsonObject(value) && value.sessionId === sessionId ? noticeOf(value.notice) : undefined;
}

/** Notices that say nothing else. */
const PLAIN_NOTICES = [
  'session_ended',
  'nothing_to_end',
  'password_changed',
  'link_sent',
  'link_used',
  'email_confirmed',
  'provider_linked',
  'provider_unlinked',
  'token_saved',
  'token_ended',
] as const;

/** The result of the user’s last action. */
export type AccountNotice =
  | { readonly done: (typeof PLAIN_NOTICES)[number] }
  | { readonly done: 'access_ended'; readonly application: string; readonly isUnchecked?: boolean }
  | { readonly done: 'other_sessions_ended'; readonly count: number };

/** @returns `undefined` for a notice of another version of the program */
function noticeOf(value: unknown): AccountNotice | undefined {
  if (!isJsonObject(value)) return undefined;
  const { done, application, isUnchecked, count } = value;
  const plain = PLAIN_NOTICES.find((notice) => notice === done);
  if (plain !== undefined) return { done: plain };
  if (done === 'access_ended' && typeof application === 'string')
    return { done, application, ...(isUnchecked === true && { isUnchecked }) };
  if (done === 'other_sessions_ended' && typeof count === 'number') return { done, count };
  return undefined;
}
