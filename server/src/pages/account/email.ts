import { html } from 'hono/html';
import { trimmed } from '../../data/names.ts';
import type { RequestLog } from '../../log/log.ts';
import { isAddress, type LinkBook, type MailQueue } from '../../people/mailing.ts';
import type { SelfService } from '../../people/self_service.ts';
import { linksToWait } from '../../people/sign_in.ts';
import { textsIn } from '../../texts/texts.ts';
import type { OpenedLink } from '../browser/cookies.ts';
import type { PerformedForms } from '../browser/forms.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { named } from '../drawing/application_shown.ts';
import { problemBox, REVEAL_SCRIPT, revealScript, textField } from '../drawing/fields.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import {
  type CurrentPasswordProblem,
  checkPassword,
  currentPasswordField,
  currentPasswordText,
  isAboutCurrent,
  type PasswordCheckNeeds,
} from './current_password.ts';
import { type AccountView, accountFrame, accountView, type FrameNeeds } from './frame.ts';

export interface EmailNeeds extends FrameNeeds, PasswordCheckNeeds {
  readonly selfService: SelfService;
  readonly openedLink: OpenedLink;
  readonly queue: MailQueue;
  readonly links: LinkBook;
  readonly performedForms: PerformedForms;
  readonly requestLog: RequestLog;
}

/** `GET /account/email`: asks for a new address, or to confirm the one whose link this browser has opened. */
export function showEmail(needs: EmailNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'email');
    if (session instanceof Response) return session;
    const isConfirming = (await addressToConfirm(c, needs, session)) !== undefined;
    const change = isConfirming ? 'email' : 'email_link';
    const owed = await needs.visits.requireChange(c, session, change, { page: 'email', isAsked: true });
    return owed ?? renderPage(c, await emailOf(c, needs, session));
  };
}

/** `POST /account/email`: sends a link to the new address, or with `confirm_email` uses the link. */
export function submitEmail(needs: EmailNeeds) {
  const changed = (form: URLSearchParams) => (form.has('confirm_email') ? 'email' : 'email_link');
  return needs.visits.form('email', changed, async (c, session, form) => {
    const { language } = needs.drawing.setting(c);
    const { subject } = session.person;
    const event = { page: 'account', requestId: requestIdOf(c), subject } as const;

    if (form.get('confirm_email') !== null) {
      const showConfirmed = () => needs.visits.show(c, session, 'overview', { done: 'email_confirmed' });
      const performed = await needs.performedForms.find(c, 'verify');
      if (performed !== undefined) return showConfirmed();
      const token = (await addressToConfirm(c, needs, session)) && needs.openedLink.get(c);
      const link = token === undefined ? undefined : await needs.links.use(token);
      needs.openedLink.forget(c);
      if (
        link === undefined ||
        !(await needs.selfService.changeEmail(session.person, link.address, language))
      )
        return needs.visits.show(c, session, 'email', { done: 'link_used' });
      needs.requestLog.pageEvent({ ...event, type: 'email_changed' });
      await needs.performedForms.remember(c, 'verify');
      return showConfirmed();
    }

    const email = trimmed(form.get('email') ?? '');
    const refuse = async (
      problem: NonNullable<EmailView['problem']>,
      status: 400 | 403 | 429 | 503,
      secondsToWait?: number,
    ) => {
      const page = await emailOf(c, needs, session, { problem, email, secondsToWait });
      return renderPage(c, { ...page, status });
    };
    if (!isAddress(email)) return refuse('address_invalid', 400);
    const checked = await checkPassword(c, needs, session, form.get('current_password') ?? '');
    if ('refusal' in checked) {
      const { problem, status, secondsToWait } = checked.refusal;
      return refuse(problem, status, secondsToWait);
    }
    const seconds = await linksToWait(needs.signInParts.limits, subject);
    if (seconds > 0) return refuse('too_many_attempts', 429, seconds);
    await needs.queue.add({ template: 'verify', to: email, subject, language, parameters: {} });
    needs.requestLog.pageEvent({ ...event, type: 'email_change_requested' });
    return needs.visits.show(c, session, 'email', { done: 'link_sent' });
  });
}

/** The address that this user may confirm now: this browser has opened the link, and it is for this user. */
async function addressToConfirm(
  c: PageContext,
  needs: EmailNeeds,
  { person }: BrowserSession,
): Promise<string | undefined> {
  const token = needs.openedLink.get(c);
  const link = token === undefined ? undefined : await needs.links.find(token);
  if (link?.purpose !== 'verify' || link.subject !== person.subject) return undefined;
  return (await needs.selfService.userOf(link)) === undefined ? undefined : link.address;
}

async function emailOf(
  c: PageContext,
  needs: EmailNeeds,
  session: BrowserSession,
  refused?: {
    readonly problem: NonNullable<EmailView['problem']>;
    readonly email: string;
    readonly secondsToWait: number | undefined;
  },
): Promise<Page> {
  const confirm = await addressToConfirm(c, needs, session);
  const { email: current } = session.person.claims;
  const view: EmailView = {
    ...(await accountView(c, needs, session, 'email')),
    email: refused?.email ?? (typeof current === 'string' ? current : ''),
    ...(confirm !== undefined && { confirm }),
    ...(refused !== undefined && { problem: refused.problem }),
    ...(refused?.secondsToWait !== undefined && { secondsToWait: refused.secondsToWait }),
  };
  return emailPage(view, needs.drawing.setting(c));
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
<a id="confirm-email-no" class="button quiet" href="${view.base}">${texts.signIn.cancel}</a>
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
