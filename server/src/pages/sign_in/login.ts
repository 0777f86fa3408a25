// The sign-in page: a password, a passkey, or the way to a provider; and the end of a sign-in, after which a session begins.

import { METHODS } from '../../access/acr.ts';
import type { Factors } from '../../data/factors.ts';
import { trimmed } from '../../data/names.ts';
import type { Person } from '../../data/people.ts';
import type { RequestLog } from '../../log/log.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { PasskeyAnswer, Passkeys } from '../../people/passkeys.ts';
import type { NotifyClients } from '../../people/sessions.ts';
import {
  type PasskeySignInRefusal,
  passkeyMethods,
  type SignIn,
  type SignInParts,
  signIn,
  signInWithPasskey,
} from '../../people/sign_in.ts';
import type { HalfSignIns, KnownBrowsers } from '../browser/cookies.ts';
import { type FormTokens, passkeyAnswer } from '../browser/forms.ts';
import {
  type AuthorizationPage,
  clientIdOf,
  isAgain,
  leadOf,
  type PendingPage,
  type PendingPages,
} from '../browser/pending.ts';
import { type PageContext, parametersOf, requestIdOf, type Visitors } from '../browser/request.ts';
import { type BrowserSessions, type HowSignedIn, signInName } from '../browser/sessions.ts';
import { personShown } from '../drawing/application_shown.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { renderPage } from '../drawing/layout.ts';
import type { ProviderButton } from '../drawing/providers_shown.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import { type SignInAgain, type SignInOffers, type SignInProblem, signInPage } from './login_page.ts';

/** What both steps need. */
export interface StepNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly pending: PendingPages;
  readonly browserSessions: BrowserSessions;
  readonly knownBrowsers: KnownBrowsers;
  readonly halfSignIns: HalfSignIns;
  readonly visitors: Visitors;
  readonly authorization: AuthorizationSteps;
  readonly missing: MissingSteps;
  readonly signInParts: SignInParts;
  readonly factors: Factors;
  /** `undefined` if passkeys are off, or browsers offer none at this issuer. */
  readonly passkeys: Passkeys | undefined;
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
  readonly clock: () => number;
}

/** The identity providers of the sign-in page. */
export interface OfferedProviders {
  /** The providers that a sign-in page offers. */
  offered(c: PageContext, page: PendingPage): readonly ProviderButton[];
  /** Whether the sign-in page first asks only for the name. */
  readonly isIdentifierFirst: boolean;
  /** Sends a user to the provider of their domain. @returns `undefined` if there is none */
  beginAtHome(c: PageContext, page: PendingPage, address: string): Promise<Response | undefined>;
}

export interface LoginNeeds extends StepNeeds {
  /** `undefined` if no identity provider is configured. */
  readonly providers: OfferedProviders | undefined;
  /** What the page offers besides. */
  readonly offers: (c: PageContext, page: PendingPage, isTyped: boolean) => SignInOffers;
}

/** What users may learn. Whether a name exists is not part of it. */
const PROBLEMS = {
  name_missing: { problem: 'name_missing', status: 400 },
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
  person_limited: { problem: 'credentials_wrong', status: 403 },
  too_many_attempts: { problem: 'too_many_attempts', status: 429 },
  too_many_failures: { problem: 'too_many_attempts', status: 429 },
  too_many_sign_ins: { problem: 'too_many_sign_ins', status: 503 },
  passkey_unknown: { problem: 'passkey_refused', status: 403 },
  passkey_foreign: { problem: 'passkey_refused', status: 403 },
  passkey_wrong: { problem: 'passkey_refused', status: 403 },
  passkey_counter_wrong: { problem: 'passkey_refused', status: 403 },
  passkey_unverified: { problem: 'passkey_unverified', status: 403 },
  security_key_alone: { problem: 'security_key_alone', status: 403 },
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
export function showLogin(needs: LoginNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const isOther = parametersOf(c).has('other');
    // Together, so that they share a read transaction.
    const [page, session, hasPasskeys] = await Promise.all([
      needs.pending.open(c, 'login'),
      isOther ? undefined : needs.browserSessions.current(c),
      anyPasskeys(needs),
    ]);
    if (session === undefined) return renderForm(c, needs, page, undefined, hasPasskeys);
    if (!('authorization' in page)) {
      if (await needs.missing.needsSignIn(session, page.pending)) return renderForm(c, needs, page);
      const missing = await needs.missing.of(session.person, session.amr, page);
      if (missing?.step === 'second') return needs.pending.redirect(c, 'second', page.pending);
      return needs.pending.continue(c, page.pending);
    }
    const isDone = (await needs.authorization.nextStep(page, session)).page !== 'login';
    return isDone ? needs.authorization.proceed(c, page, session) : renderForm(c, needs, page);
  };
}

/** `POST /login`: continues, or shows the form again. */
export function submitLogin(needs: LoginNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const page = await needs.pending.open(c, 'login');
    const clientId = clientIdOf(page);
    const form = await needs.formTokens.verified(c, { page: 'login', about: [page.sealed], clientId });
    if (form.get('decision') === 'cancel' && 'authorization' in page) return cancelSignIn(c, needs, page);
    const username = trimmed(form.get('username') ?? '');
    const answer = passkeyAnswer(form);
    if (answer === undefined && !form.has('password') && needs.providers?.isIdentifierFirst)
      return (
        (await needs.providers.beginAtHome(c, page, username)) ?? renderForm(c, needs, page, { username })
      );
    const refuse = async (refusal: Refusal) => {
      await needs.visitors.recordFailure(c, {
        ...{ page: 'login', reason: refusal.refused, subject: triedBy(refusal), clientId },
        isCounted: answer === undefined,
        isFirst: 'isFirst' in refusal && refusal.isFirst,
      });
      return renderForm(c, needs, page, { username, refusal });
    };
    const checked =
      answer === undefined
        ? await attempt(c, needs, page, { username, password: form.get('password') ?? '' })
        : await attemptWithPasskey(needs, page, answer);
    if ('refused' in checked) return refuse(checked);
    const { person, how } = checked;
    // A passkey that does not count yet is no half of a sign-in, but a whole one that lacks a step.
    if (answer === undefined && (await needs.missing.of(person, how.amr, page))?.step === 'second')
      return toSecondStep(c, needs, page, person, { page: 'login', amr: how.amr });
    const finished = await finishSignIn(c, needs, page, person, { page: 'login', ...how });
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
  needs: LoginNeeds,
  page: PendingPage,
  answer: PasskeyAnswer,
): Promise<Checked | Refusal> {
  const outcome = await signInWithPasskey(needs.passkeys, needs.signInParts, answer);
  if ('refused' in outcome) return outcome;
  const { person, passkey } = outcome;
  if (!(await isExpected(needs, page, person)))
    return { refused: 'person_not_expected', subject: person.subject };
  const isStillThere = async () => (await needs.factors.passkey(passkey.id)) !== undefined;
  return { person, how: { amr: passkeyMethods(passkey, needs.clock()), isStillThere } };
}

/** Whether the request may be about this user. */
async function isExpected(
  { authorization }: LoginNeeds,
  page: PendingPage,
  { subject }: Person,
): Promise<boolean> {
  return !('authorization' in page) || authorization.isExpected(page, subject);
}

async function attempt(
  c: PageContext,
  needs: LoginNeeds,
  page: PendingPage,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<Checked | Refusal> {
  // Before the check, so that a session does not begin if the user’s access ends during it.
  const provedAtMs = needs.clock();
  const outcome = await signIn(needs.signInParts, username, password, needs.visitors.placeOf(c));
  if ('refused' in outcome) return outcome;
  const { person } = outcome;
  if (!(await isExpected(needs, page, person)))
    return { refused: 'person_not_expected', subject: person.subject };
  return { person, how: { amr: METHODS.password, provedAtMs } };
}

/** Shows the sign-in page. */
export async function renderForm(
  c: PageContext,
  needs: LoginNeeds,
  page: PendingPage,
  typed?: { readonly username: string; readonly refusal?: Refusal | { readonly refused: 'name_missing' } },
  hasPasskeys?: boolean,
): Promise<Response> {
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = needs.drawing.setting(c, authorization?.uiLocales);
  const isOther = parametersOf(c).has('other');
  const again = isOther ? undefined : await expectedSession(c, needs, page);
  const providers = needs.providers?.offered(c, page);
  const refusal = typed?.refusal;
  const problem = refusal && PROBLEMS[refusal.refused];
  const wait = refusal !== undefined && 'secondsToWait' in refusal ? refusal.secondsToWait : undefined;
  const username = typed?.username ?? again?.person.name ?? (isOther ? '' : (authorization?.loginHint ?? ''));
  // A user with a provider of their own has no password to type.
  const asksOnlyName =
    username === ''
      ? typed === undefined && again === undefined && needs.providers?.isIdentifierFirst === true
      : !needs.signInParts.passwords.areAskedOf(username);
  const formToken = await needs.formTokens.make(c, 'login', page.sealed);
  // Offers passkeys only if there are any.
  const offersPasskeys = hasPasskeys ?? (await anyPasskeys(needs));
  const challenge = offersPasskeys ? await needs.passkeys?.signInChallenge(formToken) : undefined;
  const view = {
    action: `${needs.drawing.basePath}/login?pending=${page.sealed}${isOther ? '&other' : ''}`,
    formToken,
    username,
    lead: leadOf(page),
    ...(asksOnlyName && { asksOnlyName }),
    ...(authorization !== undefined && {
      application: needs.drawing.application(authorization.client, setting.language),
    }),
    ...(again !== undefined && { again }),
    ...needs.offers(c, page, typed !== undefined && refusal?.refused !== 'name_missing'),
    ...(providers !== undefined && { providers }),
    ...(challenge !== undefined && { challenge }),
    ...(problem !== undefined && { problem: problem.problem }),
    ...(wait !== undefined && { secondsToWait: wait }),
  };
  return renderPage(c, {
    ...signInPage(view, setting),
    status: problem?.status ?? 200,
    formMayLeave: authorization !== undefined || providers !== undefined,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  });
}

/** Whether any user has a passkey. */
async function anyPasskeys({ passkeys, factors }: LoginNeeds): Promise<boolean> {
  return passkeys !== undefined && factors.hasPasskeys();
}

/** Returns the signed-in user if the request may be about them. */
async function expectedSession(
  c: PageContext,
  { browserSessions, authorization: steps, drawing }: LoginNeeds,
  page: PendingPage,
): Promise<SignInAgain | undefined> {
  const { sealed } = page;
  const session = await browserSessions.current(c);
  const changePerson = `${drawing.basePath}/login?pending=${sealed}&other`;
  if (!('authorization' in page)) {
    if (session === undefined || !isAgain(page)) return undefined;
    return { person: personShown(session.person), reason: 'requested', changePerson };
  }
  const { authorization } = page;
  if (session === undefined || !(await steps.isExpected(page, session.person.subject))) return undefined;
  const isRequested = authorization.prompt.includes('login') || authorization.maxAge === 0;
  return {
    person: personShown(session.person),
    reason: isRequested ? 'requested' : 'tooLongAgo',
    changePerson,
  };
}

/** The page on which a user has completed a step. */
type StepPage = 'login' | 'code' | 'second';

/** Remembers what the user has shown, and continues to the second step. */
export async function toSecondStep(
  c: PageContext,
  needs: Pick<StepNeeds, 'halfSignIns' | 'requestLog' | 'drawing'>,
  page: PendingPage,
  person: Person,
  { page: name, amr }: { readonly page: StepPage; readonly amr: readonly string[] },
): Promise<Response> {
  await needs.halfSignIns.set(c, person, page.sealed, amr);
  const clientId = clientIdOf(page);
  needs.requestLog.pageEvent({
    ...{ type: 'second_step_begun', page: name, requestId: requestIdOf(c), subject: person.subject },
    ...(clientId !== undefined && { clientId }),
  });
  return c.redirect(`${needs.drawing.basePath}/login/second?pending=${page.sealed}`, 303);
}

interface How extends HowSignedIn {
  readonly page: StepPage;
  /** Whether the factor still exists. Asked after the session has begun: a later removal of the factor ends the session. */
  readonly isStillThere?: () => Promise<boolean>;
}

/**
 * Begins a session for a user who has completed this step, and continues to the next page or to the client.
 * @returns `undefined` if the user, the password or the factor has changed in the meantime
 */
export async function finishSignIn(
  c: PageContext,
  needs: StepNeeds,
  page: PendingPage,
  person: Person,
  { page: name, isStillThere, ...how }: How,
): Promise<Response | undefined> {
  const { browserSessions, knownBrowsers, halfSignIns, requestLog } = needs;
  const begun = await browserSessions.begin(c, person, how);
  if (begun === undefined) return undefined;
  const { session, ended } = begun;
  if (ended.length > 0) void needs.notifyClients(ended);
  if (isStillThere !== undefined && !(await isStillThere())) {
    void needs.notifyClients(await browserSessions.end(c, session));
    return undefined;
  }
  halfSignIns.forget(c);
  const { subject } = person;
  await knownBrowsers.recordUser(c, subject);
  const clientId = clientIdOf(page);
  requestLog.pageEvent({
    ...{ type: 'signed_in', page: name, requestId: requestIdOf(c), subject, sessionId: session.id },
    ...(clientId !== undefined && { clientId }),
  });
  if (!('authorization' in page)) return needs.pending.continue(c, page.pending);
  // A further step to an earlier sign-in is no sign-in for this request.
  const isNew = how.signedInAtMs === undefined;
  const pending = { ...page.pending, ...(isNew && { signIn: signInName(session) }) };
  return needs.authorization.proceed(c, { ...page, pending }, session);
}

/** Returns to the client without signing in. The client learns nothing about the user. */
export function cancelSignIn(c: PageContext, needs: StepNeeds, page: AuthorizationPage): Promise<Response> {
  return needs.authorization.refuse(c, page, 'access_denied', 'the person cancelled the sign-in');
}
