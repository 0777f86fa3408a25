// Emails that visitors ask for.
import { emailDomain, isName, trimmed } from '../../data/names.ts';
import type { RequestLog } from '../../log/log.ts';
import type { PageReason } from '../../log/page_events.ts';
import { isAddress, type MailQueue } from '../../people/mailing.ts';
import type { OwnPasswords } from '../../people/own_passwords.ts';
import type { SignInParts } from '../../people/sign_in.ts';
import type { KnownBrowsers } from '../browser/cookies.ts';
import type { FormTokens } from '../browser/forms.ts';
import { type PageContext, requestIdOf, type Visitors } from '../browser/request.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { type Page, renderPage } from '../drawing/layout.ts';
import { admitMail } from '../steps/requested_mails.ts';
import type { Flow } from '../steps/routes.ts';
import { type LinkNeeds, showLink, submitLink } from './link.ts';
import { type AddressProblem, forgotPage, mailSentPage, type SignUpView, signUpPage } from './mail_pages.ts';

/** What the pages need that send emails. */
interface MailNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visitors: Visitors;
  readonly knownBrowsers: KnownBrowsers;
  readonly queue: MailQueue;
  readonly signInParts: Pick<SignInParts, 'people' | 'limits'>;
  readonly passwords: OwnPasswords;
  /** Domains whose addresses may sign up; `undefined` for all. */
  readonly signUpDomains: readonly string[] | undefined;
  readonly requestLog: RequestLog;
}

export type RecoveryNeeds = MailNeeds & LinkNeeds;

/** `/forgot`, `/sign-up` and `/link`: an emailed link leads to a new password, or a new account. */
export function recoveryFlow(needs: RecoveryNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/forgot', showForgot(needs), submitForgot(needs));
      routes.form('/link', showLink(needs), submitLink(needs));
      if (needs.isSignUpOpen) routes.form('/sign-up', showSignUp(needs), submitSignUp(needs));
    },
  };
}

/** `GET /forgot`: asks for the username or the address. */
function showForgot(needs: MailNeeds) {
  return async (c: PageContext): Promise<Response> => renderPage(c, await forgotOf(c, needs));
}

/**
 * `POST /forgot`: queues each request, and always answers the same. Whether there is such a user is
 * looked up when the email is due.
 */
function submitForgot(needs: MailNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const form = await needs.formTokens.verified(c, { page: 'forgot', about: [] });
    const text = trimmed(form.get('username') ?? '');
    // Some databases cannot store other characters.
    const typed = isName(text) || isAddress(text) ? text : '';
    const setting = needs.drawing.setting(c);
    const admitted = await admitMail(c, needs, 'reset', typed);
    if ('secondsToWait' in admitted) {
      const { secondsToWait } = admitted;
      return refuseMail(c, needs, 'forgot', await forgotOf(c, needs, typed, secondsToWait), secondsToWait);
    }
    const requestId = requestIdOf(c);
    if (admitted.isSent) {
      const browser = needs.formTokens.browserOf(c) ?? '';
      await needs.queue.add({
        template: 'reset',
        to: typed,
        language: setting.language,
        parameters: { browser },
      });
      needs.requestLog.pageEvent({ type: 'reset_requested', page: 'forgot', requestId });
    } else
      needs.requestLog.pageEvent({ type: 'refused', page: 'forgot', requestId, reason: 'too_many_mails' });
    return renderPage(
      c,
      mailSentPage({ kind: 'forgot', back: `${needs.drawing.basePath}/account` }, setting),
    );
  };
}

/** `GET /sign-up`: asks for an email address. */
function showSignUp(needs: MailNeeds) {
  return async (c: PageContext): Promise<Response> => renderPage(c, await signUpOf(c, needs));
}

/** `POST /sign-up`: queues the request. The owner of the address decides about the account. */
function submitSignUp(needs: MailNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const form = await needs.formTokens.verified(c, { page: 'sign-up', about: [] });
    const typed = trimmed(form.get('email') ?? '').slice(0, MAX_TYPED);
    const setting = needs.drawing.setting(c);
    const problem = addressProblem(typed, needs);
    if (problem !== undefined) {
      needs.requestLog.pageEvent({
        ...{ type: 'refused', page: 'sign-up', requestId: requestIdOf(c), reason: problem },
      });
      return renderPage(c, { ...(await signUpOf(c, needs, typed, problem)), status: 400 });
    }
    const admitted = await admitMail(c, needs, 'sign_up', typed);
    if ('secondsToWait' in admitted) {
      const { secondsToWait } = admitted;
      const shown = await signUpOf(c, needs, typed, 'too_many_mails', secondsToWait);
      return refuseMail(c, needs, 'sign-up', shown, secondsToWait);
    }
    const requestId = requestIdOf(c);
    if (admitted.isSent) {
      const browser = needs.formTokens.browserOf(c) ?? '';
      await needs.queue.add({
        template: 'sign_up',
        to: typed,
        language: setting.language,
        parameters: { browser },
      });
      needs.requestLog.pageEvent({ type: 'sign_up_requested', page: 'sign-up', requestId });
    } else
      needs.requestLog.pageEvent({ type: 'refused', page: 'sign-up', requestId, reason: 'too_many_mails' });
    return renderPage(
      c,
      mailSentPage({ kind: 'signUp', back: `${needs.drawing.basePath}/account` }, setting),
    );
  };
}

/** No address or username is longer. */
const MAX_TYPED = 256;

/** A new user chooses a password, so an address whose users sign in at a provider is refused too. */
function addressProblem(
  address: string,
  { signUpDomains: domains, passwords }: MailNeeds,
): AddressProblem | undefined {
  if (!isAddress(address)) return 'address_invalid';
  if (!passwords.areAskedOf(address)) return 'domain_refused';
  return domains === undefined || domains.includes(emailDomain(address) ?? '') ? undefined : 'domain_refused';
}

function refuseMail(
  c: PageContext,
  { requestLog }: MailNeeds,
  page: 'forgot' | 'sign-up',
  shown: Page,
  seconds: number,
): Promise<Response> {
  const reason: PageReason = 'too_many_mails';
  requestLog.pageEvent({ type: 'refused', page, requestId: requestIdOf(c), reason });
  return renderPage(c, { ...shown, status: 429, headers: { 'retry-after': String(seconds) } });
}

async function forgotOf(c: PageContext, needs: MailNeeds, typed = '', secondsToWait?: number): Promise<Page> {
  const view = {
    action: `${needs.drawing.basePath}/forgot`,
    formToken: await needs.formTokens.make(c, 'forgot'),
    back: `${needs.drawing.basePath}/account`,
    typed,
    ...(secondsToWait !== undefined && { secondsToWait }),
  };
  return forgotPage(view, needs.drawing.setting(c));
}

async function signUpOf(
  c: PageContext,
  needs: MailNeeds,
  typed = '',
  problem?: SignUpView['problem'],
  secondsToWait?: number,
): Promise<Page> {
  const { signUpDomains: domains } = needs;
  const view = {
    action: `${needs.drawing.basePath}/sign-up`,
    formToken: await needs.formTokens.make(c, 'sign-up'),
    back: `${needs.drawing.basePath}/account`,
    typed,
    ...(domains !== undefined && { domains }),
    ...(problem !== undefined && { problem }),
    ...(secondsToWait !== undefined && { secondsToWait }),
  };
  return signUpPage(view, needs.drawing.setting(c));
}
