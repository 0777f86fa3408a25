import { addressUnit } from '@grantd/core/node';
import { html } from 'hono/html';
import { emailKey, isName, nameKey } from '../data/people.ts';
import type { PageReason } from '../log/log.ts';
import { isAddress, LINK_LIFETIMES_MS, type MailQueue, verifiedAddressOf } from '../people/mailing.ts';
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
    const admitted = await admitMail(c, parts, 'reset', typed);
    if (typeof admitted === 'object') {
      const { secondsToWait } = admitted;
      return refuseMail(c, parts, 'forgot', await forgotOf(c, parts, typed, secondsToWait), secondsToWait);
    }
    const requestId = requestIdOf(c);
    if (admitted === 'sent') {
      const browser = parts.formTokens.browserOf(c) ?? '';
      await queue.add({ template: 'reset', to: typed, language: setting.language, parameters: { browser } });
      parts.requestLog.pageEvent({ type: 'reset_requested', page: 'forgot', requestId });
    } else
      parts.requestLog.pageEvent({ type: 'refused', page: 'forgot', requestId, reason: 'too_many_mails' });
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
    const problem = addressProblem(typed, parts);
    if (problem !== undefined) {
      parts.requestLog.pageEvent({
        ...{ type: 'refused', page: 'sign-up', requestId: requestIdOf(c), reason: problem },
      });
      return renderPage(c, { ...(await signUpOf(c, parts, typed, problem)), status: 400 });
    }
    const admitted = await admitMail(c, parts, 'sign_up', typed);
    if (typeof admitted === 'object') {
      const { secondsToWait } = admitted;
      const shown = await signUpOf(c, parts, typed, 'too_many_mails', secondsToWait);
      return refuseMail(c, parts, 'sign-up', shown, secondsToWait);
    }
    const requestId = requestIdOf(c);
    if (admitted === 'sent') {
      const browser = parts.formTokens.browserOf(c) ?? '';
      await queue.add({
        template: 'sign_up',
        to: typed,
        language: setting.language,
        parameters: { browser },
      });
      parts.requestLog.pageEvent({ type: 'sign_up_requested', page: 'sign-up', requestId });
    } else
      parts.requestLog.pageEvent({ type: 'refused', page: 'sign-up', requestId, reason: 'too_many_mails' });
    return renderPage(c, mailSentPage({ kind: 'signUp', back: `${parts.basePath}/account` }, setting));
  };
}

/** No address or username is longer. */
const MAX_TYPED = 256;

type AddressProblem = 'address_invalid' | 'domain_refused';

/** A new user chooses a password, so an address whose users sign in at a provider is refused too. */
function addressProblem(
  address: string,
  { signUpDomains: domains, passwords }: PageParts,
): AddressProblem | undefined {
  if (!isAddress(address)) return 'address_invalid';
  if (!passwords.areAskedOf(address)) return 'domain_refused';
  const domain = emailKey(address.slice(address.lastIndexOf('@') + 1));
  return domains === undefined || domains.includes(domain) ? undefined : 'domain_refused';
}

/** Maximum emails that visitors at one place may ask for in an hour, for all names together. */
const MAILS_OF_PLACE = { attempts: 30, windowMs: 60 * 60 * 1000 };

/**
 * Maximum emails with links for one name: asked for at one place, and at all unknown ones. The time is that of the links,
 * so that a user whom strangers have used up the emails of still has a link that works.
 */
const MAILS_OF_NAME = { atPlace: 5, inAll: 20 };

/** What becomes of a request for an email. */
type Admission =
  | 'sent'
  /** The page answers as usual. Otherwise it would tell a user what strangers have asked for. */
  | 'not_sent'
  | { readonly secondsToWait: number };

/**
 * Counts a request for an email by what was typed, whether or not it belongs to a user, and by where it comes from. Each
 * purpose has counts of its own.
 */
async function admitMail(
  c: PageContext,
  parts: PageParts,
  purpose: 'reset' | 'sign_up',
  typed: string,
): Promise<Admission> {
  const windowMs = LINK_LIFETIMES_MS[purpose];
  const address = addressUnit(parts.clientAddress(c.env.incoming));
  const browser = purpose === 'reset' ? await knownBrowser(c, parts, typed) : undefined;
  const name = nameKey(typed);
  const atPlace = {
    name: `mail ${purpose} to ${name}`,
    // No address has a space.
    place: browser === undefined ? address : `browser ${browser}`,
    most: { attempts: MAILS_OF_NAME.atPlace, windowMs },
  };
  const ofAddress = { name: `mail ${purpose} from`, place: address, most: MAILS_OF_PLACE };
  // What was typed may look like a place.
  const inAll = {
    name: `mail ${purpose} to`,
    place: name,
    most: { attempts: MAILS_OF_NAME.inAll, windowMs },
  };
  const counts = browser === undefined ? [ofAddress, atPlace, inAll] : [atPlace];
  const reached = await parts.signInParts.limits.begin(...counts);
  if (reached === undefined) return 'sent';
  return reached.count === ofAddress ? { secondsToWait: reached.secondsToWait } : 'not_sent';
}

/**
 * The identifier of this browser, if the user with this name or verified address has signed in with it. Looks up only the
 * users of the browser, so that the time does not tell which names exist.
 */
async function knownBrowser(c: PageContext, parts: PageParts, typed: string): Promise<string | undefined> {
  const known = await parts.knownBrowsers.users(c);
  if (known === undefined) return undefined;
  const people = await Promise.all(known.subjects.map((one) => parts.signInParts.people.bySubject(one)));
  const isTyped = people.some((person) => {
    const email = person && verifiedAddressOf(person);
    return (
      person !== undefined &&
      (nameKey(person.name) === nameKey(typed) ||
        (email !== undefined && emailKey(email) === emailKey(typed)))
    );
  });
  return isTyped ? known.browser : undefined;
}

/** Maximum links to a new address that a user may ask for in an hour. */
const MAILS_OF_USER = { attempts: 5, windowMs: 60 * 60 * 1000 };

/** Counts a link to a new address. @returns seconds to wait; 0 to go on */
export async function linksToWait({ signInParts: { limits } }: PageParts, subject: string): Promise<number> {
  const reached = await limits.begin({ name: 'mail verify of', place: subject, most: MAILS_OF_USER });
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
