import { html } from 'hono/html';
import type { Person } from '../data/people.ts';
import { METHODS } from '../people/acr.ts';
import type { Challenge, PasskeyAnswer } from '../people/passkeys.ts';
import { type SignIn, signIn } from '../people/sign_in.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { toAccountPage } from './account_frame.ts';
import {
  applicationLinks,
  applicationShown,
  named,
  personLine,
  personShown,
  uncheckedNote,
} from './application_shown.ts';
import { nextStep, proceed } from './authorization.ts';
import { operatorMark } from './brand.ts';
import { REVEAL_SCRIPT, revealButton, revealScript } from './fields.ts';
import { cancelSignIn, clientIdOf, finishSignIn } from './finish_sign_in.ts';
import {
  type ApplicationShown,
  type FormShown,
  type Page,
  type PageSetting,
  type PersonShown,
  pageSetting,
  renderPage,
} from './layout.ts';
import { missingOf, needsSignIn } from './missing_step.ts';
import { type PageContext, type PageParts, placeFinder, requestIdOf } from './page_parts.ts';
import {
  PASSKEY_SCRIPT,
  type PasskeySignInRefusal,
  passkeyAnswer,
  passkeyForm,
  passkeyMethods,
  passkeyScript,
  signInWithPasskey,
} from './passkey_form.ts';
import { openPendingPage, type PendingPage, redirectToPage, verifiedForm } from './pending_page.ts';
import { type ProviderButton, providerButtons } from './provider_page.ts';
import { beginAtHome, isAgain, isIdentifierFirst, offeredProviders } from './upstream_pages.ts';

/** What users may learn. Whether a name exists is not part of it. */
const PROBLEMS = {
  person_unknown: { problem: 'credentials_wrong', status: 403 },
  password_wrong: { problem: 'credentials_wrong', status: 403 },
  password_cut_off: { problem: 'password_cut_off', status: 403 },
  person_disabled: { problem: 'account_disabled', status: 403 },
  person_changed: { problem: 'credentials_wrong', status: 403 },
  password_not_asked: { problem: 'password_not_asked', status: 403 },
  person_not_expected: { problem: 'another_person', status: 403 },
  password_expired: { problem: 'password_expired', status: 403 },
  directory_sign_in_restricted: { problem: 'sign_in_restricted', status: 403 },
  directory_account_locked: { problem: 'credentials_wrong', status: 403 },
  directory_entry_ambiguous: { problem: 'credentials_wrong', status: 403 },
  directory_entry_limited: { problem: 'credentials_wrong', status: 403 },
  directory_entry_missing: { problem: 'account_disabled', status: 403 },
  directory_name_taken: { problem: 'credentials_wrong', status: 403 },
  directory_name_refused: { problem: 'credentials_wrong', status: 403 },
  too_many_attempts: { problem: 'too_many_attempts', status: 429 },
  too_many_failures: { problem: 'too_many_attempts', status: 429 },
  too_many_sign_ins: { problem: 'too_many_sign_ins', status: 503 },
  passkey_unknown: { problem: 'passkey_refused', status: 403 },
  passkey_foreign: { problem: 'passkey_refused', status: 403 },
  passkey_wrong: { problem: 'passkey_refused', status: 403 },
  passkey_counter_wrong: { problem: 'passkey_refused', status: 403 },
  passkeys_too_many: { problem: 'passkey_refused', status: 403 },
  passkey_challenge_wrong: { problem: 'passkey_too_late', status: 403 },
  passkey_challenge_used: { problem: 'passkey_too_late', status: 403 },
  passkey_waits: { problem: 'passkey_refused', status: 403 },
} as const satisfies Record<string, { readonly problem: SignInProblem; readonly status: number }>;

type Refusal =
  | Exclude<SignIn, { person: unknown }>
  | { readonly refused: PasskeySignInRefusal; readonly subject?: string }
  | { readonly refused: 'person_not_expected' | 'person_changed'; readonly subject: string };

/** `GET /login`: shows the form, or continues if the user is already signed in and no other user wants to sign in. */
export function showLogin(parts: PageParts) {
  const { browserSessions } = parts;
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    const session = c.req.query('other') === undefined ? await browserSessions.current(c) : undefined;
    if (session === undefined) return renderForm(c, parts, page);
    if (!('authorization' in page)) {
      if (await needsSignIn(parts, session, page.pending)) return renderForm(c, parts, page);
      const missing = await missingOf(parts, session.person, session.amr, page);
      if (missing?.step === 'second') return redirectToPage(c, parts, 'second', page.pending);
      return toAccountPage(c, parts, page.pending);
    }
    const isDone = (await nextStep(parts, page, session)).page !== 'login';
    return isDone ? proceed(c, parts, page, session) : renderForm(c, parts, page);
  };
}

/** `POST /login`: continues, or shows the form again. */
export function submitLogin(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    const clientId = clientIdOf(page);
    const form = await verifiedForm(c, parts, { page: 'login', about: [page.sealed], clientId });
    if (form.get('decision') === 'cancel' && 'authorization' in page) return cancelSignIn(c, parts, page);
    const username = (form.get('username') ?? '').trim();
    const answer = passkeyAnswer(form);
    if (answer === undefined && !form.has('password') && isIdentifierFirst(parts))
      return (await beginAtHome(c, parts, page, username)) ?? renderForm(c, parts, page, { username });
    const refuse = async (refusal: Refusal) => {
      await parts.recordFailure(c, {
        ...{ page: 'login', reason: refusal.refused, subject: triedBy(refusal), clientId },
        isCounted: answer === undefined,
        isFirst: 'isFirst' in refusal && refusal.isFirst,
      });
      return renderForm(c, parts, page, { username, refusal });
    };
    const checked =
      answer === undefined
        ? await attempt(c, parts, page, { username, password: form.get('password') ?? '' })
        : await attemptWithPasskey(parts, page, answer);
    if ('refused' in checked) return refuse(checked);
    const { person, how } = checked;
    // A passkey that does not count yet is no half of a sign-in, but a whole one that lacks a step.
    if (answer === undefined && (await missingOf(parts, person, how.amr, page))?.step === 'second') {
      await parts.halfSignIns.set(c, person, page.sealed);
      parts.requestLog.pageEvent({
        ...{ type: 'second_step_begun', page: 'login', requestId: requestIdOf(c), subject: person.subject },
        ...(clientId !== undefined && { clientId }),
      });
      return c.redirect(`${parts.basePath}/login/second?pending=${page.sealed}`, 303);
    }
    const finished = await finishSignIn(c, parts, page, person, { page: 'login', ...how });
    return finished ?? refuse({ refused: 'person_changed', subject: person.subject });
  };
}

function triedBy(refusal: Refusal): string | undefined {
  if ('triedSubject' in refusal) return refusal.triedSubject;
  return 'subject' in refusal ? refusal.subject : undefined;
}

/** A user who has signed in. */
interface Checked {
  readonly person: Person;
  readonly how: {
    readonly amr: readonly string[];
    readonly provedAtMs?: number;
    readonly isStillThere?: () => Promise<boolean>;
  };
}

/** A passkey is both factors in one (WebAuthn §4, user verification). */
async function attemptWithPasskey(
  parts: PageParts,
  page: PendingPage,
  answer: PasskeyAnswer,
): Promise<Checked | Refusal> {
  const outcome = await signInWithPasskey(parts, answer);
  if ('refused' in outcome) return outcome;
  const { person, passkey } = outcome;
  if (!(await isExpected(parts, page, person)))
    return { refused: 'person_not_expected', subject: person.subject };
  const isStillThere = async () => (await parts.factors.passkey(passkey.id)) !== undefined;
  return { person, how: { amr: passkeyMethods(parts, passkey), isStillThere } };
}

/** OpenID Connect Core §3.1.2.2: never answer about a user other than the requested one. */
async function isExpected({ server }: PageParts, page: PendingPage, { subject }: Person): Promise<boolean> {
  return !('authorization' in page) || server.authorization.isExpectedUser(page.authorization, subject);
}

async function attempt(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<Checked | Refusal> {
  // Before the check, so that a session does not begin if the user’s access ends during it.
  const provedAtMs = parts.clock();
  const outcome = await signIn(parts.signInParts, username, password, placeFinder(c, parts));
  if ('refused' in outcome) return outcome;
  const { person } = outcome;
  if (!(await isExpected(parts, page, person)))
    return { refused: 'person_not_expected', subject: person.subject };
  return { person, how: { amr: METHODS.password, provedAtMs } };
}

async function renderForm(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
  typed?: { readonly username: string; readonly refusal?: Refusal },
): Promise<Response> {
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = pageSetting(c, parts, authorization?.uiLocales);
  const isOther = c.req.query('other') !== undefined;
  const again = isOther ? undefined : await expectedSession(c, parts, page);
  const providers = offeredProviders(c, parts, page);
  const refusal = typed?.refusal;
  const shown = refusal && PROBLEMS[refusal.refused];
  const wait = refusal !== undefined && 'secondsToWait' in refusal ? refusal.secondsToWait : undefined;
  const username = typed?.username ?? again?.person.name ?? (isOther ? '' : (authorization?.loginHint ?? ''));
  // A user with a provider of their own has no password to type.
  const asksOnlyName =
    username === ''
      ? typed === undefined && again === undefined && isIdentifierFirst(parts)
      : !parts.passwords.areAskedOf(username);
  const formToken = await parts.formTokens.make(c, 'login', page.sealed);
  // Offers passkeys only if there are any.
  const hasPasskeys = parts.passkeys !== undefined && (await parts.factors.hasPasskeys());
  const challenge = hasPasskeys ? await parts.passkeys?.signInChallenge(formToken) : undefined;
  const view = {
    action: `${parts.basePath}/login?pending=${page.sealed}${isOther ? '&other' : ''}`,
    formToken,
    username,
    ...(asksOnlyName && { asksOnlyName }),
    ...(authorization !== undefined && {
      application: applicationShown(authorization.client, setting.language, parts.basePath),
    }),
    ...(again !== undefined && { again }),
    ...(parts.mail !== undefined && { forgot: `${parts.basePath}/forgot` }),
    ...(parts.isSignUpOpen && { signUp: `${parts.basePath}/sign-up` }),
    ...(providers !== undefined && { providers }),
    ...(challenge !== undefined && { challenge }),
    ...(shown !== undefined && { problem: shown.problem }),
    ...(wait !== undefined && { secondsToWait: wait }),
  };
  return renderPage(c, {
    ...signInPage(view, setting),
    status: shown?.status ?? 200,
    formMayLeave: authorization !== undefined || providers !== undefined,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  });
}

/** Returns the signed-in user if the request may be about them. */
async function expectedSession(
  c: PageContext,
  { browserSessions, server, basePath }: PageParts,
  page: PendingPage,
): Promise<SignInAgain | undefined> {
  const { sealed } = page;
  const session = await browserSessions.current(c);
  const changePerson = `${basePath}/login?pending=${sealed}&other`;
  if (!('authorization' in page)) {
    if (session === undefined || !isAgain(page)) return undefined;
    return { person: personShown(session.person), reason: 'requested', changePerson };
  }
  const { authorization } = page;
  if (
    session === undefined ||
    !(await server.authorization.isExpectedUser(authorization, session.person.subject))
  )
    return undefined;
  const isRequested = authorization.prompt.includes('login') || authorization.maxAge === 0;
  return {
    person: personShown(session.person),
    reason: isRequested ? 'requested' : 'tooLongAgo',
    changePerson,
  };
}

type SignInProblem = keyof Texts['signIn']['problems'];

export interface SignInView extends FormShown {
  /** The requesting application; absent on the way to the account page. */
  readonly application?: ApplicationShown;
  /** Initial value of the field: a hint or the previous input; may be empty. */
  readonly username: string;
  /** Whether the password comes later, because the address may lead to a provider. */
  readonly asksOnlyName?: boolean;
  readonly problem?: SignInProblem;
  /** Present with a temporary problem. */
  readonly secondsToWait?: number;
  /** URL for users who have forgotten their password; absent if the server sends no emails. */
  readonly forgot?: string;
  /** URL for people without an account; absent if nobody may sign up. */
  readonly signUp?: string;
  /** Identity providers at which the user can sign in. */
  readonly providers?: readonly ProviderButton[];
  /** Absent if no user has a passkey. */
  readonly challenge?: Challenge;
  /** Present if a signed-in user must enter the password again. */
  readonly again?: SignInAgain;
}

interface SignInAgain {
  readonly person: PersonShown;
  readonly reason: 'requested' | 'tooLongAgo';
  /** URL at which another user can sign in. */
  readonly changePerson: string;
}

/**
 * `/login`: fields `username` and, unless it comes later, `password`, button `login-submit`; for an application also the
 * button `login-cancel`, which sends the field `decision` as `cancel`; with passkeys the button `passkey-submit`. The
 * page shows only the operator’s brand, because the password goes to the operator.
 */
export function signInPage(view: SignInView, setting: PageSetting): Page {
  const { application, again, problem, challenge } = view;
  const texts = textsIn(setting.language);
  const title = again === undefined ? texts.signIn.title : texts.signIn.titleAgain;
  return {
    ...setting,
    title: problem === undefined ? title : texts.problemTitle(title),
    namesOperator: true,
    scripts: [...(challenge === undefined ? [] : [PASSKEY_SCRIPT]), REVEAL_SCRIPT],
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${title}</h1>
<p class="lead">${leadOf(view, texts)}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? '' : problemBox(view, problem, texts)}
${again === undefined ? '' : personLine(texts.signIn.signedInAs, again.person, html`<a id="change-person" href="${again.changePerson}">${texts.signIn.notYou}</a>`)}
${form(view, texts)}
${otherWays(view, texts)}
${challenge === undefined ? '' : passkeyForm({ ...view, challenge, isAutofilled: again === undefined, button: { id: 'passkey-submit', text: texts.passkeys.signIn } }, texts)}
${providerButtons(view.providers, view.formToken, texts)}
${application === undefined ? '' : cancelForm(view, texts)}
${application === undefined ? '' : applicationLinks(application, texts)}
${challenge === undefined ? '' : passkeyScript()}
${revealScript()}`,
  };
}

function otherWays({ forgot, signUp, again }: SignInView, { signIn: words }: Texts): Html | '' {
  const ways = [
    { id: 'forgot-password', href: forgot, text: words.forgot },
    { id: 'sign-up', href: again === undefined ? signUp : undefined, text: words.signUp },
  ].filter(({ href }) => href !== undefined);
  if (ways.length === 0) return '';
  return html`<ul class="links" role="list">
${ways.map(({ id, href, text }) => html`<li><a id="${id}" href="${href}">${text}</a></li>\n`)}</ul>`;
}

/** A separate form, so that the typed password is not sent. */
function cancelForm({ action, formToken }: SignInView, texts: Texts): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="login-cancel" type="submit" name="decision" value="cancel">${texts.signIn.cancel}</button>
</form>`;
}

function leadOf({ application, again }: SignInView, texts: Texts): Html | string {
  if (again !== undefined) {
    const { again: reasons } = texts.signIn;
    return application === undefined ? reasons.forAccount : reasons[again.reason](named(application.name));
  }
  return application === undefined
    ? texts.signIn.toAccount
    : texts.signIn.toContinueTo(named(application.name));
}

function problemBox({ secondsToWait }: SignInView, problem: SignInProblem, texts: Texts): Html {
  const wait =
    secondsToWait === undefined ? '' : texts.signIn.tryAgainIn(texts.formats.duration(secondsToWait));
  return html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${texts.signIn.problems[problem]} ${wait}</span></p>`;
}

function form(view: SignInView, texts: Texts): Html {
  const { action, formToken, username, problem, again, challenge, asksOnlyName = false } = view;
  const describedBy = problem === undefined ? '' : html` aria-describedby="problem"`;
  const isInvalid = problem === 'credentials_wrong' ? html` aria-invalid="true"` : '';
  const focus = html` autofocus`;
  const nameFirst = username === '' || asksOnlyName;
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="username">${asksOnlyName ? texts.forgot.usernameOrEmail : texts.signIn.username}</label>
<input id="username" name="username" value="${username}" autocomplete="${challenge === undefined ? 'username' : 'username webauthn'}" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="256" required${again === undefined ? '' : html` readonly`}${describedBy}${isInvalid}${nameFirst ? focus : ''}>
${
  asksOnlyName
    ? ''
    : html`<label for="password">${texts.signIn.password}</label>
<div class="secret">
<input id="password" name="password" type="password" autocomplete="current-password" required${describedBy}${isInvalid}${nameFirst ? '' : focus}>
${revealButton('password', texts)}
</div>`
}
<button id="login-submit" type="submit" class="primary">${again === undefined && !asksOnlyName ? texts.signIn.submit : texts.signIn.submitAgain}</button>
</form>`;
}
