// Links of emails: for a forgotten password, an invitation, or a new account.
import type { LinkPurpose, MailedLink } from '../../data/mails.ts';
import { emailKey, isName, nameKey, nameProblem, trimmed } from '../../data/names.ts';
import type { People, Person } from '../../data/people.ts';
import type { RequestLog } from '../../log/log.ts';
import { isAddress, isFromBrowser, type LinkBook } from '../../people/mailing.ts';
import type { OwnPasswords } from '../../people/own_passwords.ts';
import type { PasswordRules } from '../../people/passwords.ts';
import type { SelfService } from '../../people/self_service.ts';
import type { NotifyClients } from '../../people/sessions.ts';
import { ATTEMPTS_OF_NAME, linkCountName, type SignInParts } from '../../people/sign_in.ts';
import type { OpenedLink } from '../browser/cookies.ts';
import type { FormTokens, PerformedForms } from '../browser/forms.ts';
import { type PageContext, PageProblem, requestIdOf, type Visitors } from '../browser/request.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { type Page, renderPage } from '../drawing/layout.ts';
import { type LinkProblem, type LinkView, linkDonePage, linkFormPage } from './link_pages.ts';

export interface LinkNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visitors: Visitors;
  readonly links: LinkBook;
  readonly openedLink: OpenedLink;
  readonly ownPeople: People;
  readonly selfService: SelfService;
  readonly passwords: OwnPasswords;
  readonly passwordRules: PasswordRules;
  readonly signInParts: SignInParts;
  readonly performedForms: PerformedForms;
  readonly isSignUpOpen: boolean;
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
}

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
export function showLink(needs: LinkNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const { openedLink, links, drawing } = needs;
    const token = c.req.query('token')?.slice(0, MAX_TOKEN);
    if (token !== undefined) {
      openedLink.set(c, token, Math.max(await links.secondsLeft(token), SECONDS_TO_SAY_INVALID));
      c.header('referrer-policy', 'no-referrer');
      c.header('cache-control', 'no-store');
      return c.redirect(`${drawing.basePath}/link`, 303);
    }
    const usable = await usableLink(c, needs);
    if (usable.link.purpose === 'verify') return c.redirect(`${drawing.basePath}/account/email`, 303);
    return renderPage(c, await linkFormOf(c, needs, usable));
  };
}

const MAX_TOKEN = 64;

/** For the page that says that the link no longer works. */
const SECONDS_TO_SAY_INVALID = 60;

/**
 * `POST /link`: sets the password of the link’s user, or creates the account. The same form again finds its work done
 * (ADR 173).
 */
export function submitLink(needs: LinkNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const done = await needs.performedForms.find(c, 'reset', 'password', 'invite', 'sign_up');
    if (done !== undefined) return renderDone(c, needs, done);
    const usable = await usableLink(c, needs);
    const { token, link, person } = usable;
    const form = await needs.formTokens.verified(c, { page: 'link', about: [token] });
    const typed = { username: trimmed(form.get('username') ?? ''), password: form.get('new_password') ?? '' };
    const refuse = async (problem: LinkProblem, status: RefusedStatus = 400, secondsToWait?: number) => {
      const event = { type: 'refused', page: 'link', requestId: requestIdOf(c), reason: problem } as const;
      needs.requestLog.pageEvent({ ...event, ...(person && { subject: person.subject }) });
      const page = await linkFormOf(c, needs, usable, { problem, username: typed.username, secondsToWait });
      return renderPage(c, { ...page, status });
    };
    const place = needs.visitors.unitOf(c);
    const submit = async () => {
      const refused =
        link.purpose === 'sign_up'
          ? await create(c, needs, usable, typed, refuse)
          : await setPassword(c, needs, usable, typed, place, refuse);
      if (refused !== undefined) return refused;
      needs.openedLink.forget(c);
      await needs.performedForms.remember(c, link.purpose);
      return renderDone(c, needs, link.purpose);
    };
    // One link can be sent many times at once, and each time costs a hash.
    const answer = needs.signInParts.hasher.admit({ name: place, isKnown: false }, submit);
    return answer ?? refuse('too_many_sign_ins', 503, SECONDS_TO_WAIT);
  };
}

function renderDone(c: PageContext, { drawing }: LinkNeeds, purpose: LinkPurpose): Promise<Response> {
  return renderPage(c, linkDonePage({ purpose, signIn: `${drawing.basePath}/account` }, drawing.setting(c)));
}

/** The time in which a full queue of hashes moves on. */
const SECONDS_TO_WAIT = 5;

type RefusedStatus = 400 | 403 | 429 | 503;

interface Typed {
  readonly username: string;
  readonly password: string;
}

type RefuseLink = (problem: LinkProblem, status?: RefusedStatus, secondsToWait?: number) => Promise<Response>;

/** @returns `undefined` if it is set */
async function setPassword(
  c: PageContext,
  needs: LinkNeeds,
  { token, link, person }: UsableLink,
  { username, password }: Typed,
  place: string,
  refuse: RefuseLink,
): Promise<Response | undefined> {
  if (person === undefined) throw new PageProblem('link', 'link_invalid');
  if (isElsewhere(c, needs, link)) {
    const { subject: triedSubject } = person;
    const count = { name: linkCountName(triedSubject), place, most: ATTEMPTS_OF_NAME, triedSubject };
    const reached = await needs.signInParts.limits.begin(count);
    if (reached !== undefined) return refuse('too_many_attempts', 429, reached.secondsToWait);
    if (!isName(username) || nameKey(username) !== nameKey(person.name)) return refuse('link_foreign', 403);
  }
  const { name, claims, subject } = person;
  const problem = await needs.passwordRules.problemOf(password, { name, email: claims.email });
  if (problem !== undefined) return refuse(problem);
  const { language } = needs.drawing.setting(c);
  const use = () => needs.links.use(token);
  const ended = await needs.selfService.resetPassword(person, password, language, use);
  if (ended === undefined) throw new PageProblem('link', 'link_invalid');
  void needs.notifyClients(ended);
  needs.requestLog.pageEvent({ type: 'password_reset', page: 'link', requestId: requestIdOf(c), subject });
  return undefined;
}

/** @returns `undefined` if it is created */
async function create(
  c: PageContext,
  needs: LinkNeeds,
  { token, link }: UsableLink,
  { username, password }: Typed,
  refuse: RefuseLink,
): Promise<Response | undefined> {
  // With the name of a provider’s user, the new password would open nothing.
  if (nameProblem(username) !== undefined || !needs.passwords.areAskedOf(username))
    return refuse('name_refused');
  // With another person’s address as username, the owner could not sign in with it (ADR 191).
  if (isAddress(username) && emailKey(username) !== emailKey(link.address)) return refuse('name_refused');
  const problem = await needs.passwordRules.problemOf(password, { name: username, email: link.address });
  if (problem !== undefined) return refuse(problem);
  if ((await needs.ownPeople.byName(username)) !== undefined) return refuse('name_taken');
  if ((await needs.signInParts.directory?.hasName(username)) === true) return refuse('name_taken');
  const passwordHash = await needs.signInParts.hasher.hash(password);
  if ((await needs.links.use(token)) === undefined) throw new PageProblem('link', 'link_invalid');
  const claims = { email: link.address, email_verified: true };
  const person = await needs.ownPeople.add({ name: username, passwordHash, claims, claimsEmail: true });
  if (person === undefined) {
    // Another link to the address was used at the same time.
    if ((await needs.ownPeople.byVerifiedEmail(link.address, 1)).length > 0)
      throw new PageProblem('link', 'link_invalid');
    await needs.links.restore(token, link);
    return refuse('name_taken');
  }
  const { subject } = person;
  needs.requestLog.pageEvent({ type: 'signed_up', page: 'link', requestId: requestIdOf(c), subject });
  return undefined;
}

/**
 * Opens the link of this browser.
 * @throws {PageProblem} there is none, it was used, it has expired, or the user has changed since
 */
async function usableLink(c: PageContext, needs: LinkNeeds): Promise<UsableLink> {
  const token = needs.openedLink.get(c);
  const link = token === undefined ? undefined : await needs.links.find(token);
  if (token === undefined || link === undefined) throw new PageProblem('link', 'link_invalid');
  if (link.purpose === 'sign_up') {
    const [known] = needs.isSignUpOpen ? await needs.ownPeople.byVerifiedEmail(link.address, 1) : [link];
    if (known !== undefined) throw new PageProblem('link', 'link_invalid');
    return { token, link, person: undefined };
  }
  const person = await needs.selfService.userOf(link);
  if (person === undefined) throw new PageProblem('link', 'link_invalid');
  return { token, link, person };
}

/** Whether a link for a password was asked for in another browser. */
function isElsewhere(c: PageContext, needs: LinkNeeds, link: MailedLink): boolean {
  return link.purpose === 'reset' && !isFromBrowser(link, needs.formTokens.browserOf(c));
}

async function linkFormOf(
  c: PageContext,
  needs: LinkNeeds,
  { token, link, person }: UsableLink,
  typed?: {
    readonly problem: LinkProblem;
    readonly username: string;
    readonly secondsToWait: number | undefined;
  },
): Promise<Page> {
  const isAsked = link.purpose === 'sign_up' || isElsewhere(c, needs, link);
  const view: LinkView = {
    action: `${needs.drawing.basePath}/link`,
    formToken: await needs.formTokens.make(c, 'link', token),
    purpose: link.purpose === 'invite' || link.purpose === 'sign_up' ? link.purpose : 'reset',
    address: link.address,
    minLength: needs.passwordRules.minLength,
    isAsked,
    username: isAsked ? (typed?.username ?? '') : (person?.name ?? ''),
    ...(typed !== undefined && { problem: typed.problem }),
    ...(typed?.secondsToWait !== undefined && { secondsToWait: typed.secondsToWait }),
  };
  return linkFormPage(view, needs.drawing.setting(c));
}
