import { addressUnit } from '@grantd/core/node';
import { html } from 'hono/html';
import { emailDomain, isName, nameKey } from '../data/people.ts';
import type { PageReason } from '../log/log.ts';
import { isAddress, type MailQueue } from '../people/mailing.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { operatorMark } from './brand.ts';
import { problemBox, textField } from './fields.ts';
import { type FormShown, type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { verifiedForm } from './pending_page.ts';

/** `GET /forgot`: asks for the username or the address. */
export function showForgot(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => renderPage(c, await forgotOf(c, parts));
}

/**
 * `POST /forgot`: queues the request, whatever was typed, and always answers the same. Whether there is such a user is
 * looked up when the email is due.
 */
export function submitForgot(parts: PageParts, queue: MailQueue) {
  return async (c: PageContext): Promise<Response> => {
    const form = await verifiedForm(c, parts, { page: 'forgot', about: [] });
    const text = (form.get('username') ?? '').trim();
    // Some databases cannot store other characters.
    const typed = isName(text) || isAddress(text) ? text : '';
    const setting = pageSetting(c, parts);
    const seconds = await mailsToWait(c, parts, typed);
    if (seconds > 0) return refuseMail(c, parts, 'forgot', await forgotOf(c, parts, typed, seconds), seconds);
    const browser = parts.formTokens.browserOf(c) ?? '';
    await queue.add({ template: 'reset', to: typed, language: setting.language, parameters: { browser } });
    parts.requestLog.pageEvent({ type: 'reset_requested', page: 'forgot', requestId: requestIdOf(c) });
    return renderPage(c, mailSentPage({ kind: 'forgot', back: `${parts.basePath}/account` }, setting));
  };
}

/** `GET /sign-up`: asks for an email address. */
export function showSignUp(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => renderPage(c, await signUpOf(c, parts));
}

/** `POST /sign-up`: queues the request. The owner of the address decides about the account. */
export function submitSignUp(parts: PageParts, queue: MailQueue) {
  return async (c: PageContext): Promise<Response> => {
    const form = await verifiedForm(c, parts, { page: 'sign-up', about: [] });
    const typed = (form.get('email') ?? '').trim().slice(0, MAX_TYPED);
    const setting = pageSetting(c, parts);
    const problem = addressProblem(typed, parts.signUpDomains);
    if (problem !== undefined) {
      parts.requestLog.pageEvent({
        ...{ type: 'refused', page: 'sign-up', requestId: requestIdOf(c), reason: problem },
      });
      return renderPage(c, { ...(await signUpOf(c, parts, typed, problem)), status: 400 });
    }
    const seconds = await mailsToWait(c, parts, typed);
    if (seconds > 0)
      return refuseMail(
        c,
        parts,
        'sign-up',
        await signUpOf(c, parts, typed, 'too_many_mails', seconds),
        seconds,
      );
    const browser = parts.formTokens.browserOf(c) ?? '';
    await queue.add({ template: 'sign_up', to: typed, language: setting.language, parameters: { browser } });
    parts.requestLog.pageEvent({ type: 'sign_up_requested', page: 'sign-up', requestId: requestIdOf(c) });
    return renderPage(c, mailSentPage({ kind: 'signUp', back: `${parts.basePath}/account` }, setting));
  };
}

/** No address or username is longer. */
const MAX_TYPED = 256;

type AddressProblem = 'address_invalid' | 'domain_refused';

function addressProblem(address: string, domains: readonly string[] | undefined): AddressProblem | undefined {
  if (!isAddress(address)) return 'address_invalid';
  return domains === undefined || domains.includes(emailDomain(address) ?? '') ? undefined : 'domain_refused';
}

const HOUR_MS = 60 * 60 * 1000;

/** Maximum emails that visitors at one place may ask for, and that may be asked for with one address. */
const MAILS_OF_PLACE = { attempts: 30, windowMs: HOUR_MS };
const MAILS_OF_ADDRESS = { attempts: 5, windowMs: HOUR_MS };

/**
 * Counts a request for an email, by what was typed and by where it comes from. What was typed counts whether or not it
 * belongs to a user.
 * @returns seconds to wait; 0 if the request may proceed
 */
export async function mailsToWait(c: PageContext, parts: PageParts, typed: string): Promise<number> {
  const place = addressUnit(parts.clientAddress(c.env.incoming));
  const reached = await parts.signInParts.limits.begin(
    { name: 'mail from', place, most: MAILS_OF_PLACE },
    // What was typed may look like a place.
    { name: 'mail to', place: nameKey(typed), most: MAILS_OF_ADDRESS },
  );
  return reached?.secondsToWait ?? 0;
}

function refuseMail(
  c: PageContext,
  { requestLog }: PageParts,
  page: 'forgot' | 'sign-up',
  shown: Page,
  seconds: number,
): Promise<Response> {
  const reason: PageReason = 'too_many_mails';
  requestLog.pageEvent({ type: 'refused', page, requestId: requestIdOf(c), reason });
  return renderPage(c, { ...shown, status: 429, headers: { 'retry-after': String(seconds) } });
}

async function forgotOf(c: PageContext, parts: PageParts, typed = '', secondsToWait?: number): Promise<Page> {
  const view = {
    action: `${parts.basePath}/forgot`,
    formToken: await parts.formTokens.make(c, 'forgot'),
    back: `${parts.basePath}/account`,
    typed,
    ...(secondsToWait !== undefined && { secondsToWait }),
  };
  return forgotPage(view, pageSetting(c, parts));
}

async function signUpOf(
  c: PageContext,
  parts: PageParts,
  typed = '',
  problem?: SignUpView['problem'],
  secondsToWait?: number,
): Promise<Page> {
  const { signUpDomains: domains } = parts;
  const view = {
    action: `${parts.basePath}/sign-up`,
    formToken: await parts.formTokens.make(c, 'sign-up'),
    back: `${parts.basePath}/account`,
    typed,
    ...(domains !== undefined && { domains }),
    ...(problem !== undefined && { problem }),
    ...(secondsToWait !== undefined && { secondsToWait }),
  };
  return signUpPage(view, pageSetting(c, parts));
}

interface ForgotView extends FormShown {
  readonly typed: string;
  /** URL of the sign-in page. */
  readonly back: string;
  readonly secondsToWait?: number;
}

/** `/forgot`: field `username`, button `forgot-submit`, link `to-sign-in`. */
export function forgotPage(view: ForgotView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { forgot } = texts;
  const { secondsToWait } = view;
  return {
    ...setting,
    title: secondsToWait === undefined ? forgot.title : texts.problemTitle(forgot.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${forgot.title}</h1>
<p class="lead">${forgot.lead}</p>
</header>
${secondsToWait === undefined ? '' : problemBox(tooMany(secondsToWait, texts))}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${textField({ id: 'username', name: 'username', label: forgot.usernameOrEmail, autocomplete: 'username', value: view.typed, isFocused: true })}
<button id="forgot-submit" type="submit" class="primary">${forgot.submit}</button>
</form>
<a id="to-sign-in" class="button" href="${view.back}">${forgot.back}</a>`,
  };
}

function tooMany(seconds: number, { signIn, formats }: Texts): string {
  return `${signIn.problems.too_many_attempts} ${signIn.tryAgainIn(formats.duration(seconds))}`;
}

interface SignUpView extends FormShown {
  readonly typed: string;
  readonly back: string;
  /** Domains whose addresses are allowed, if not all are. */
  readonly domains?: readonly string[];
  readonly problem?: AddressProblem | 'too_many_mails';
  readonly secondsToWait?: number;
}

/** `/sign-up`: field `email`, button `sign-up-submit`, link `to-sign-in`. */
export function signUpPage(view: SignUpView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { signUp, forgot } = texts;
  const { problem, domains = [] } = view;
  const text =
    problem === undefined || problem === 'too_many_mails'
      ? tooMany(view.secondsToWait ?? 0, texts)
      : signUp.problems[problem];
  const hint = domains.length === 0 ? {} : { hint: signUp.domains(texts.formats.list([...domains])) };
  return {
    ...setting,
    title: problem === undefined ? signUp.title : texts.problemTitle(signUp.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${signUp.title}</h1>
<p class="lead">${signUp.lead}</p>
</header>
${problem === undefined ? '' : problemBox(text)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${textField({ id: 'email', name: 'email', label: signUp.email, autocomplete: 'email', value: view.typed, isFocused: true, isWrong: problem !== undefined, ...hint }, 'email')}
<button id="sign-up-submit" type="submit" class="primary">${signUp.submit}</button>
</form>
<a id="to-sign-in" class="button" href="${view.back}">${forgot.back}</a>`,
  };
}

interface MailSentView {
  readonly kind: 'forgot' | 'signUp';
  readonly back: string;
}

/** Says the same, whether or not an email is on its way. */
export function mailSentPage({ kind, back }: MailSentView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.forgot.sentTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${texts.forgot.sentTitle}</h1>
</header>
<p role="status" id="mail-sent">${texts[kind].sent}</p>
<p class="detail">${texts.forgot.sentHelp}</p>
<a id="to-sign-in" class="button" href="${back}">${texts.forgot.back}</a>`,
  };
}
