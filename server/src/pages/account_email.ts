import { html } from 'hono/html';
import { isAddress, type LinkBook, type MailQueue } from '../people/mailing.ts';
import { textsIn } from '../texts/texts.ts';
import { accountForm, requireChange } from './account_form.ts';
import { type AccountView, accountFrame, accountView, openAccount, toAccount } from './account_frame.ts';
import {
  type CurrentPasswordProblem,
  checkPassword,
  currentPasswordField,
  currentPasswordText,
  isAboutCurrent,
} from './account_security.ts';
import { named } from './application_shown.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { problemBox, REVEAL_SCRIPT, revealScript, textField } from './fields.ts';
import { linksToWait } from './forgot_page.ts';
import { type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';

/** `GET /account/email`: asks for a new address, or to confirm the one whose link this browser has opened. */
export function showEmail(parts: PageParts, links: LinkBook) {
  return async (c: PageContext): Promise<Response> => {
    const session = await openAccount(c, parts, 'email');
    if (session instanceof Response) return session;
    const isConfirming = (await addressToConfirm(c, parts, links, session)) !== undefined;
    const change = isConfirming ? 'email' : 'email_link';
    const owed = await requireChange(c, parts, session, change, { page: 'email', isAsked: true });
    return owed ?? renderPage(c, await emailOf(c, parts, links, session));
  };
}

/** `POST /account/email`: sends a link to the new address, or with `confirm_email` uses the link. */
export function submitEmail(
  parts: PageParts,
  { queue, links }: { readonly queue: MailQueue; readonly links: LinkBook },
) {
  const changed = (form: URLSearchParams) => (form.has('confirm_email') ? 'email' : 'email_link');
  return accountForm(parts, 'email', changed, async (c, session, form) => {
    const { language } = pageSetting(c, parts);
    const { subject } = session.person;
    const event = { page: 'account', requestId: requestIdOf(c), subject } as const;

    if (form.get('confirm_email') !== null) {
      const token = (await addressToConfirm(c, parts, links, session)) && parts.openedLink.get(c);
      const link = token === undefined ? undefined : await links.use(token);
      parts.openedLink.forget(c);
      if (
        link === undefined ||
        !(await parts.selfService.changeEmail(session.person, link.address, language))
      )
        return toAccount(c, parts, session, 'email', { done: 'link_used' });
      parts.requestLog.pageEvent({ ...event, type: 'email_changed' });
      return toAccount(c, parts, session, 'overview', { done: 'email_confirmed' });
    }

    const email = (form.get('email') ?? '').trim();
    const refuse = async (
      problem: NonNullable<EmailView['problem']>,
      status: 400 | 403 | 429 | 503,
      secondsToWait?: number,
    ) => {
      const page = await emailOf(c, parts, links, session, { problem, email, secondsToWait });
      return renderPage(c, { ...page, status });
    };
    if (!isAddress(email)) return refuse('address_invalid', 400);
    const checked = await checkPassword(c, parts, session, form.get('current_password') ?? '');
    if ('refusal' in checked) {
      const { problem, status, secondsToWait } = checked.refusal;
      return refuse(problem, status, secondsToWait);
    }
    const seconds = await linksToWait(parts, subject);
    if (seconds > 0) return refuse('too_many_attempts', 429, seconds);
    await queue.add({ template: 'verify', to: email, subject, language, parameters: {} });
    parts.requestLog.pageEvent({ ...event, type: 'email_change_requested' });
    return toAccount(c, parts, session, 'email', { done: 'link_sent' });
  });
}

/** The address that this user may confirm now: this browser has opened the link, and it is for this user. */
async function addressToConfirm(
  c: PageContext,
  parts: PageParts,
  links: LinkBook,
  { person }: BrowserSession,
): Promise<string | undefined> {
  const token = parts.openedLink.get(c);
  const link = token === undefined ? undefined : await links.find(token);
  if (link?.purpose !== 'verify' || link.subject !== person.subject) return undefined;
  return (await parts.selfService.userOf(link)) === undefined ? undefined : link.address;
}

async function emailOf(
  c: PageContext,
  parts: PageParts,
  links: LinkBook,
  session: BrowserSession,
  refused?: {
    readonly problem: NonNullable<EmailView['problem']>;
    readonly email: string;
    readonly secondsToWait: number | undefined;
  },
): Promise<Page> {
  const confirm = await addressToConfirm(c, parts, links, session);
  const { email: current } = session.person.claims;
  const view: EmailView = {
    ...(await accountView(c, parts, session, 'email')),
    email: refused?.email ?? (typeof current === 'string' ? current : ''),
    ...(confirm !== undefined && { confirm }),
    ...(refused !== undefined && { problem: refused.problem }),
    ...(refused?.secondsToWait !== undefined && { secondsToWait: refused.secondsToWait }),
  };
  return emailPage(view, pageSetting(c, parts));
}

export interface EmailView extends AccountView {
  /** Initial value of the field. */
  readonly email: string;
  /** The address of the opened link, if there is one. */
  readonly confirm?: string;
  readonly problem?: CurrentPasswordProblem | 'address_invalid';
  readonly secondsToWait?: number;
}

/** `/account/email`: fields `email` and `current_password`, button `send-link`; or button `confirm-email`. */
export function emailPage(view: EmailView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account, signUp } = texts;
  const { confirm, problem } = view;
  if (confirm !== undefined)
    return accountFrame(view, setting, {
      title: account.confirmEmail,
      body: html`<p>${account.confirmEmailText(named(confirm))}</p>
<form method="post" action="${view.base}/email">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="confirm-email" type="submit" class="primary" name="confirm_email" value="yes">${account.confirmEmailYes}</button>
<a id="confirm-email-no" class="button" href="${view.base}">${texts.signIn.cancel}</a>
</div>
</form>`,
    });
  const text = isAboutCurrent(problem)
    ? currentPasswordText(problem, view.secondsToWait, texts)
    : signUp.problems.address_invalid;
  return {
    ...accountFrame(view, setting, {
      title: account.changeEmail,
      lead: account.changeEmailText,
      isProblem: problem !== undefined,
      body: html`${problem === undefined ? '' : problemBox(text)}
<div class="fields">
<form method="post" action="${view.base}/email">
<input type="hidden" name="form_token" value="${view.formToken}">
${textField({ id: 'email', name: 'email', label: account.email, autocomplete: 'email', value: view.email, isWrong: problem === 'address_invalid' }, 'email')}
${currentPasswordField(problem, texts)}
<button id="send-link" type="submit" class="primary">${account.sendLink}</button>
</form>
</div>
${revealScript()}`,
    }),
    scripts: [REVEAL_SCRIPT],
  };
}
