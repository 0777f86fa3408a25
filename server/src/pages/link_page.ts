import { addressUnit } from '@grantd/core/node';
import { html } from 'hono/html';
import type { MailedLink } from '../data/mails.ts';
import { isName, nameKey, nameProblem, type Person } from '../data/people.ts';
import type { PageReason } from '../log/log.ts';
import { isFromBrowser, type LinkBook } from '../people/mailing.ts';
import type { PasswordProblem } from '../people/passwords.ts';
import { ATTEMPTS_OF_NAME, linkCountName } from '../people/sign_in.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { named } from './application_shown.ts';
import { operatorMark } from './brand.ts';
import { PageProblem } from './error_page.ts';
import { passwordField, problemBox, REVEAL_SCRIPT, revealScript, textField } from './fields.ts';
import { type FormShown, type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { verifiedForm } from './pending_page.ts';

/** A link with the user that it is about. Sign-up has none yet. */
interface UsableLink {
  readonly token: string;
  readonly link: MailedLink;
  readonly person: Person | undefined;
}

/**
 * `GET /link`. With the token from the email, puts it into a cookie and continues without it, so that no page has it in
 * its URL. Opening a link changes nothing, because mail programs open links too.
 */
export function showLink(parts: PageParts, links: LinkBook) {
  return async (c: PageContext): Promise<Response> => {
    const { openedLink, basePath } = parts;
    const token = c.req.query('token');
    if (token !== undefined) {
      openedLink.set(c, token.slice(0, MAX_TOKEN));
      c.header('referrer-policy', 'no-referrer');
      c.header('cache-control', 'no-store');
      return c.redirect(`${basePath}/link`, 303);
    }
    const usable = await usableLink(c, parts, links);
    if (usable.link.purpose === 'verify') return c.redirect(`${basePath}/account/email`, 303);
    return renderPage(c, await linkFormOf(c, parts, usable));
  };
}

const MAX_TOKEN = 64;

/** `POST /link`: sets the password of the link’s user, or creates the account. */
export function submitLink(parts: PageParts, links: LinkBook) {
  return async (c: PageContext): Promise<Response> => {
    const usable = await usableLink(c, parts, links);
    const { token, link, person } = usable;
    const form = await verifiedForm(c, parts, { page: 'link', about: [token] });
    const typed = { username: (form.get('username') ?? '').trim(), password: form.get('new_password') ?? '' };
    const refuse = async (problem: LinkProblem, status: RefusedStatus = 400, secondsToWait?: number) => {
      const event = { type: 'refused', page: 'link', requestId: requestIdOf(c), reason: problem } as const;
      parts.requestLog.pageEvent({ ...event, ...(person && { subject: person.subject }) });
      const page = await linkFormOf(c, parts, usable, { problem, username: typed.username, secondsToWait });
      return renderPage(c, { ...page, status });
    };
    const place = addressUnit(parts.clientAddress(c.env.incoming));
    const submit = () =>
      link.purpose === 'sign_up'
        ? create(c, parts, links, usable, typed, refuse)
        : setPassword(c, parts, links, usable, typed, place, refuse);
    // One link can be sent many times at once, and each time costs a hash.
    const answer = parts.signInParts.hasher.admit({ name: place, isKnown: false }, submit);
    return answer ?? refuse('too_many_sign_ins', 503, SECONDS_TO_WAIT);
  };
}

/** The time in which a full queue of hashes moves on. */
const SECONDS_TO_WAIT = 5;

type RefusedStatus = 400 | 403 | 429 | 503;

interface Typed {
  readonly username: string;
  readonly password: string;
}

type RefuseLink = (problem: LinkProblem, status?: RefusedStatus, secondsToWait?: number) => Promise<Response>;

async function setPassword(
  c: PageContext,
  parts: PageParts,
  links: LinkBook,
  { token, link, person }: UsableLink,
  { username, password }: Typed,
  place: string,
  refuse: RefuseLink,
): Promise<Response> {
  if (person === undefined) throw new PageProblem('link', 'link_invalid');
  if (isElsewhere(c, parts, link)) {
    const count = { name: linkCountName(person.subject), place, most: ATTEMPTS_OF_NAME };
    const reached = await parts.signInParts.limits.begin(count);
    if (reached !== undefined) return refuse('too_many_attempts', 429, reached.secondsToWait);
    if (!isName(username) || nameKey(username) !== nameKey(person.name)) return refuse('link_foreign', 403);
  }
  const { name, claims, subject } = person;
  const problem = await parts.passwordRules.problemOf(password, { name, email: claims.email });
  if (problem !== undefined) return refuse(problem);
  const setting = pageSetting(c, parts);
  const use = () => links.use(token);
  const ended = await parts.selfService.resetPassword(person, password, setting.language, use);
  if (ended === undefined) throw new PageProblem('link', 'link_invalid');
  void parts.notifyClients(ended);
  parts.openedLink.forget(c);
  parts.requestLog.pageEvent({ type: 'password_reset', page: 'link', requestId: requestIdOf(c), subject });
  const view = { purpose: link.purpose, signIn: `${parts.basePath}/account` };
  return renderPage(c, linkDonePage(view, setting));
}

async function create(
  c: PageContext,
  parts: PageParts,
  links: LinkBook,
  { token, link }: UsableLink,
  { username, password }: Typed,
  refuse: RefuseLink,
): Promise<Response> {
  // With the name of a provider’s user, the new password would open nothing.
  if (nameProblem(username) !== undefined || !parts.passwords.areAskedOf(username))
    return refuse('name_refused');
  const problem = await parts.passwordRules.problemOf(password, { name: username, email: link.address });
  if (problem !== undefined) return refuse(problem);
  if ((await parts.ownPeople.byName(username)) !== undefined) return refuse('name_taken');
  if ((await parts.signInParts.directory?.hasName(username)) === true) return refuse('name_taken');
  const passwordHash = await parts.signInParts.hasher.hash(password);
  if ((await links.use(token)) === undefined) throw new PageProblem('link', 'link_invalid');
  const claims = { email: link.address, email_verified: true };
  const person = await parts.ownPeople.add({ name: username, passwordHash, claims, claimsEmail: true });
  if (person === undefined) {
    // Another link to the address was used at the same time.
    if ((await parts.ownPeople.byVerifiedEmail(link.address, 1)).length > 0)
      throw new PageProblem('link', 'link_invalid');
    await links.restore(token, link);
    return refuse('name_taken');
  }
  parts.openedLink.forget(c);
  const { subject } = person;
  parts.requestLog.pageEvent({ type: 'signed_up', page: 'link', requestId: requestIdOf(c), subject });
  const view = { purpose: 'sign_up', signIn: `${parts.basePath}/account` } as const;
  return renderPage(c, linkDonePage(view, pageSetting(c, parts)));
}

/**
 * Opens the link of this browser.
 * @throws {PageProblem} there is none, it was used, it has expired, or the user has changed since
 */
async function usableLink(c: PageContext, parts: PageParts, links: LinkBook): Promise<UsableLink> {
  const token = parts.openedLink.get(c);
  const link = token === undefined ? undefined : await links.find(token);
  if (token === undefined || link === undefined) throw new PageProblem('link', 'link_invalid');
  if (link.purpose === 'sign_up') {
    const [known] = parts.isSignUpOpen ? await parts.ownPeople.byVerifiedEmail(link.address, 1) : [link];
    if (known !== undefined) throw new PageProblem('link', 'link_invalid');
    return { token, link, person: undefined };
  }
  const person = await parts.selfService.userOf(link);
  if (person === undefined) throw new PageProblem('link', 'link_invalid');
  return { token, link, person };
}

/** Whether a link for a password was asked for in another browser. */
function isElsewhere(c: PageContext, parts: PageParts, link: MailedLink): boolean {
  return link.purpose === 'reset' && !isFromBrowser(link, parts.formTokens.browserOf(c));
}

async function linkFormOf(
  c: PageContext,
  parts: PageParts,
  { token, link, person }: UsableLink,
  typed?: {
    readonly problem: LinkProblem;
    readonly username: string;
    readonly secondsToWait: number | undefined;
  },
): Promise<Page> {
  const isAsked = link.purpose === 'sign_up' || isElsewhere(c, parts, link);
  const view: LinkView = {
    action: `${parts.basePath}/link`,
    formToken: await parts.formTokens.make(c, 'link', token),
    purpose: link.purpose === 'invite' || link.purpose === 'sign_up' ? link.purpose : 'reset',
    address: link.address,
    minLength: parts.passwordRules.minLength,
    isAsked,
    username: isAsked ? (typed?.username ?? '') : (person?.name ?? ''),
    ...(typed !== undefined && { problem: typed.problem }),
    ...(typed?.secondsToWait !== undefined && { secondsToWait: typed.secondsToWait }),
  };
  return linkFormPage(view, pageSetting(c, parts));
}

type LinkProblem =
  | PasswordProblem
  | Extract<
      PageReason,
      'link_foreign' | 'too_many_attempts' | 'too_many_sign_ins' | 'name_refused' | 'name_taken'
    >;

type FormPurpose = 'reset' | 'invite' | 'sign_up';

export interface LinkView extends FormShown {
  readonly purpose: FormPurpose;
  readonly address: string;
  readonly minLength: number;
  /** Whether the user types the username: for a new account, or because the link was asked for in another browser. */
  readonly isAsked: boolean;
  readonly username: string;
  readonly problem?: LinkProblem;
  readonly secondsToWait?: number;
}

/** `/link`: fields `username` and `new_password`, button `link-submit`. */
export function linkFormPage(view: LinkView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { purpose, problem, isAsked, username, minLength } = view;
  const words = texts.links[purpose];
  const isNameWrong = problem === 'link_foreign' || problem === 'name_refused' || problem === 'name_taken';
  // Of no field, as nothing has been checked.
  const isToWait = problem === 'too_many_attempts' || problem === 'too_many_sign_ins';
  const isNameNext = username === '' || isNameWrong;
  const lead =
    isAsked && purpose === 'reset'
      ? texts.links.elsewhere
      : words.lead(named(isAsked ? view.address : username));
  return {
    ...setting,
    title: problem === undefined ? words.title : texts.problemTitle(words.title),
    namesOperator: true,
    scripts: [REVEAL_SCRIPT],
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${words.title}</h1>
<p class="lead">${lead}</p>
</header>
${problem === undefined ? '' : problemBox(linkProblemText(problem, view, texts))}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${
  isAsked
    ? textField({
        ...{ id: 'username', name: 'username', autocomplete: 'username', value: username },
        label: texts.signIn.username,
        isFocused: isNameNext,
        isWrong: isNameWrong,
      })
    : html`<input type="text" class="unseen" name="username" value="${username}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">`
}
${passwordField(
  {
    ...{ id: 'new-password', name: 'new_password', autocomplete: 'new-password' },
    label: texts.passwords.newPassword,
    hint: texts.passwords.hint(minLength),
    isFocused: !isAsked || !isNameNext,
    isWrong: problem !== undefined && !isNameWrong && !isToWait,
  },
  texts,
  minLength,
)}
<button id="link-submit" type="submit" class="primary">${words.submit}</button>
</form>
${revealScript()}`,
  };
}

function linkProblemText(
  problem: LinkProblem,
  { minLength, secondsToWait = 0 }: LinkView,
  texts: Texts,
): string {
  const { links, signIn, formats } = texts;
  if (problem === 'too_many_attempts' || problem === 'too_many_sign_ins')
    return `${signIn.problems[problem]} ${signIn.tryAgainIn(formats.duration(secondsToWait))}`;
  if (problem === 'link_foreign' || problem === 'name_refused' || problem === 'name_taken')
    return links.problems[problem];
  return passwordProblemText(problem, minLength, texts);
}

export function passwordProblemText(
  problem: PasswordProblem,
  minLength: number,
  { passwords }: Texts,
): string {
  return passwords.problems[problem](minLength);
}

interface LinkDoneView {
  readonly purpose: MailedLink['purpose'];
  readonly signIn: string;
}

/** The end of a link: `to-sign-in`. */
export function linkDonePage({ purpose, signIn }: LinkDoneView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const words = texts.links[purpose === 'invite' || purpose === 'sign_up' ? purpose : 'reset'];
  return {
    ...setting,
    title: words.doneTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${words.doneTitle}</h1>
<p class="lead">${words.done}</p>
</header>
<a id="to-sign-in" class="button primary" href="${signIn}">${texts.signIn.submit}</a>`,
  };
}
