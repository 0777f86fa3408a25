import type { EmailCodes } from '../../people/email_codes.ts';
import type { MailQueue } from '../../people/mailing.ts';
import type { RequestedCodes } from '../browser/cookies.ts';
import type { PendingPage } from '../browser/pending.ts';
import { type PageContext, parametersOf } from '../browser/request.ts';
import type { PageRoutes } from '../steps/routes.ts';
import { showEmailCode, submitEmailCode } from './email_code.ts';
import { type LoginNeeds, renderForm, showLogin, submitLogin } from './login.ts';
import type { SignInOffers } from './login_page.ts';
import { type SecondStepNeeds, showSecond, submitSecond } from './second_step.ts';

type Needs = Omit<LoginNeeds, 'offers'> & Omit<SecondStepNeeds, 'emailCodes'>;

export interface SignInNeeds extends Needs {
  /** Whether the server sends links to users who have forgotten their password. */
  readonly sendsMail: boolean;
  readonly isSignUpOpen: boolean;
  /** `undefined` if the server sends no codes. */
  readonly emailCode: EmailCode | undefined;
}

interface EmailCode {
  readonly emailCodes: EmailCodes;
  readonly requestedCodes: RequestedCodes;
  readonly queue: MailQueue;
  /** Whether it is the usual way, and the password the other one. */
  readonly isFirst: boolean;
  /** Whether a sign-in for this purpose can be with a code. */
  readonly isFor: (page: PendingPage) => boolean;
}

/** `/login`, `/login/code` and `/login/second`: a user signs in, for an application or for a page of this server. */
export function signInFlow(given: SignInNeeds) {
  const { emailCode } = given;
  const needs = { ...given, offers: offersOf(given), emailCodes: emailCode?.emailCodes };
  return {
    show: (c: PageContext, page: PendingPage) => renderForm(c, needs, page),
    mount(routes: PageRoutes) {
      routes.form('/login', showLogin(needs), submitLogin(needs));
      routes.form('/login/second', showSecond(needs), submitSecond(needs));
      if (emailCode === undefined) return;
      const own = { ...needs, ...emailCode };
      routes.form('/login/code', showEmailCode(own), submitEmailCode(own));
    },
  };
}

function offersOf({
  drawing: { basePath },
  sendsMail,
  isSignUpOpen,
  signInParts,
  emailCode,
}: SignInNeeds): LoginNeeds['offers'] {
  const always: SignInOffers = {
    ...(signInParts.byAddress !== undefined && { takesAddress: true }),
    ...(sendsMail && { forgot: `${basePath}/forgot` }),
    ...(isSignUpOpen && { signUp: `${basePath}/sign-up` }),
  };
  if (emailCode === undefined) return () => always;
  return (c, page, isTyped) => {
    if (!emailCode.isFor(page)) return always;
    const { sealed } = page;
    const parameters = parametersOf(c);
    const isOther = parameters.has('other');
    const passwordUrl = `${basePath}/login?pending=${sealed}${isOther ? '&other' : ''}&password`;
    const isCodeFirst = emailCode.isFirst && !isTyped && !parameters.has('password');
    const action = `${basePath}/login/code?pending=${sealed}`;
    return { ...always, emailCode: { action, ...(isCodeFirst && { passwordUrl }) } };
  };
}
