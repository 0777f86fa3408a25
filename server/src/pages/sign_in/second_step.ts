// The second step of a sign-in, or what a session lacks.

import { afterStep, byRecovery, hasFirstStep, METHODS, usesEmailCode } from '../../access/acr.ts';
import { type Level, PHISHING_RESISTANT } from '../../config/acr.ts';
import type { Passkey } from '../../data/factors.ts';
import type { Person } from '../../data/people.ts';
import type { PageReason } from '../../log/page_events.ts';
import type { EmailCodes } from '../../people/email_codes.ts';
import type { CodeRefusal, SecondFactors } from '../../people/second_factors.ts';
import { type PasskeySignInRefusal, passkeyMethods, signInWithPasskey } from '../../people/sign_in.ts';
import { passkeyAnswer } from '../browser/forms.ts';
import { clientIdOf, leadOf, type PendingPage } from '../browser/pending.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { personShown } from '../drawing/application_shown.ts';
import { renderPage } from '../drawing/layout.ts';
import { cancelSignIn, finishSignIn, type StepNeeds } from './login.ts';
import { type SecondProblem, type SecondView, secondPage } from './second_page.ts';

export interface SecondStepNeeds extends StepNeeds {
  readonly secondFactors: SecondFactors;
  /** `undefined` if the server sends no codes. */
  readonly emailCodes: Pick<EmailCodes, 'mayUse'> | undefined;
}

/** `GET /login/second`: asks for a second factor, or only for what a session lacks. */
export function showSecond(needs: SecondStepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const page = await needs.pending.open(c, 'second');
    const waiting = await waitingIn(c, needs, page);
    return waiting instanceof Response ? waiting : renderSecond(c, needs, page, waiting);
  };
}

/** `POST /login/second`: fields `code` or `recovery_code`, or the answer of a passkey. */
export function submitSecond(needs: SecondStepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const page = await needs.pending.open(c, 'second');
    const clientId = clientIdOf(page);
    const form = await needs.formTokens.verified(c, { page: 'second', about: [page.sealed], clientId });
    if (form.get('decision') === 'cancel' && 'authorization' in page) {
      needs.halfSignIns.forget(c);
      return cancelSignIn(c, needs, page);
    }
    const waiting = await waitingIn(c, needs, page);
    if (waiting instanceof Response) return waiting;
    const { subject } = waiting.person;
    const refuse = (refusal: Refusal | { readonly refused: PageReason }) =>
      needs.visitors.recordFailure(c, {
        ...{ page: 'second', reason: refusal.refused, subject, clientId },
        isCounted: passkeyAnswer(form) === undefined,
        isFirst: 'isFirst' in refusal && refusal.isFirst,
      });
    // A directory may have disabled the user since the password, or since the session began. Asks it before the step is
    // checked, so that an outage uses up no code.
    const admitted = await needs.signInParts.directory?.admit(waiting.person);
    if (admitted !== undefined && 'refused' in admitted) {
      needs.halfSignIns.forget(c);
      await refuse(admitted);
      if (waiting.session !== undefined)
        void needs.notifyClients(await needs.browserSessions.end(c, waiting.session));
      return needs.pending.redirect(c, 'login', page.pending);
    }
    const outcome = await check(needs, { ...waiting, ...admitted }, form);
    if ('refused' in outcome) {
      await refuse(outcome);
      return renderSecond(c, needs, page, waiting, outcome);
    }
    if (outcome.isRecovery)
      needs.requestLog.pageEvent({
        ...{ type: 'recovery_code_used', page: 'second', requestId: requestIdOf(c), subject },
        ...(clientId !== undefined && { clientId }),
      });
    const how = { page: 'second', ...outcome.how } as const;
    const finished = await finishSignIn(c, needs, page, outcome.person, how);
    if (finished !== undefined) return finished;
    needs.halfSignIns.forget(c);
    await refuse({ refused: 'person_changed' });
    return needs.pending.redirect(c, 'login', page.pending);
  };
}

/** A user who owes a further step. */
interface Waiting {
  readonly person: Person;
  readonly level: Level;
  readonly takesRecovery: boolean;
  /** What the user has shown. */
  readonly amr: readonly string[];
  /** The session that lacks the step; absent after a password or a code by email. */
  readonly session?: BrowserSession;
}

/** @returns a response if no step is due here */
async function waitingIn(
  c: PageContext,
  needs: SecondStepNeeds,
  page: PendingPage,
): Promise<Waiting | Response> {
  const half = await halfSignedIn(c, needs, page);
  if (half !== undefined) return half;
  const session = await needs.browserSessions.current(c);
  if (session === undefined) return needs.pending.redirect(c, 'login', page.pending);
  if ('authorization' in page) {
    // The session must meet everything else that the request asks of the sign-in.
    const step = await needs.authorization.nextStep(page, session);
    if (step.page !== 'second') return needs.authorization.proceed(c, page, session);
  } else if (await needs.missing.needsSignIn(session, page.pending)) {
    return needs.pending.redirect(c, 'login', page.pending);
  }
  const missing = await needs.missing.of(session.person, session.amr, page);
  if (missing?.step === 'second') return { ...missing, person: session.person, amr: session.amr, session };
  return 'authorization' in page
    ? needs.authorization.proceed(c, page, session)
    : needs.pending.continue(c, page.pending);
}

async function halfSignedIn(
  c: PageContext,
  needs: SecondStepNeeds,
  page: PendingPage,
): Promise<Waiting | undefined> {
  const { halfSignIns, signInParts } = needs;
  const half = await halfSignIns.get(c, page.sealed);
  const person = half && (await signInParts.people.bySubject(half.subject));
  if (half === undefined || person === undefined || !halfSignIns.isCurrent(half, person)) return undefined;
  const state = await signInParts.storage.getPrincipalState('subject', person.subject);
  if (state?.disabledAtMs !== undefined) return undefined;
  // Revoking all tokens of a user also ends this: the password may be the reason, and may be elsewhere.
  if (state?.raisedAtMs !== undefined && state.raisedAtMs >= half.begunAtMs) return undefined;
  const { amr } = half;
  if (!(await mayStill(needs, person, amr))) return undefined;
  const missing = await needs.missing.of(person, amr, page);
  // The factors were removed in the meantime: the user starts again with the password.
  return missing?.step === 'second' ? { ...missing, person, amr } : undefined;
}

/** Whether the first step still counts: users may lose the right to sign in with a code by email. */
async function mayStill(
  { emailCodes }: Pick<SecondStepNeeds, 'emailCodes'>,
  person: Person,
  amr: readonly string[],
): Promise<boolean> {
  return !usesEmailCode(amr) || (await emailCodes?.mayUse(person)) === true;
}

type Refusal = CodeRefusal | { readonly refused: PasskeySignInRefusal };

interface Passed {
  readonly person: Person;
  readonly isRecovery: boolean;
  readonly how: {
    readonly amr: readonly string[];
    readonly signedInAtMs?: number;
    readonly isStillThere: () => Promise<boolean>;
  };
}

async function check(
  needs: SecondStepNeeds,
  { person, level, takesRecovery, amr: before, session }: Waiting,
  form: URLSearchParams,
): Promise<Passed | Refusal> {
  const { factors, secondFactors, clock } = needs;
  const answer = passkeyAnswer(form);
  if (answer !== undefined) {
    const outcome = await signInWithPasskey(needs.passkeys, needs.signInParts, answer, person);
    if ('refused' in outcome) return outcome;
    const { id, countsFromMs, isSecurityKey } = outcome.passkey;
    if (isSecurityKey && !takesSecurityKey(session)) return { refused: 'security_key_alone' };
    if (!takesRecovery && countsFromMs > clock()) return { refused: 'passkey_waits' };
    const methods = passkeyMethods(outcome.passkey, clock());
    const isStillThere = async () => (await factors.passkey(id)) !== undefined;
    // A passkey is a complete sign-in of its own. A security key adds to an earlier one.
    if (session === undefined || !isSecurityKey) {
      const amr = session === undefined ? [...before, ...methods] : methods;
      return { person, isRecovery: false, how: { amr, isStillThere } };
    }
    const { signedInAtMs } = session;
    const amr = afterStep(session.amr, methods);
    return { person, isRecovery: false, how: { amr, isStillThere, signedInAtMs } };
  }
  const { totpCountsFromMs = 0 } = await factors.of(person.subject);
  const isTotpWaiting = totpCountsFromMs > clock();
  const recovery = form.get('recovery_code');
  // What is not enough is refused before it is used up.
  if (recovery !== null && !takesRecovery) return { refused: 'recovery_code_wrong' };
  if (recovery === null && !isCodeEnough({ level, takesRecovery, isTotpWaiting }))
    return { refused: 'code_wrong' };
  const refusal =
    recovery === null
      ? await secondFactors.checkTotp(person, form.get('code') ?? '')
      : await secondFactors.useRecoveryCode(person, recovery);
  if (refusal !== undefined) return refusal;
  const isStillThere = async () => {
    const { passkeys, hasTotp } = await factors.of(person.subject);
    return passkeys > 0 || hasTotp;
  };
  const methods = recovery !== null || isTotpWaiting ? byRecovery(METHODS.code) : METHODS.code;
  const amr = afterStep(before, methods);
  const how = { amr, isStillThere, ...(session !== undefined && { signedInAtMs: session.signedInAtMs }) };
  return { person, isRecovery: recovery !== null, how };
}

/** Whether a security key can follow what the user has shown in a session, or else the password. */
function takesSecurityKey(session: BrowserSession | undefined): boolean {
  return session === undefined || hasFirstStep(session.amr);
}

/** Whether a code of the app is enough. One of an app that does not count yet stands for a recovery code. */
function isCodeEnough({
  level,
  takesRecovery,
  isTotpWaiting,
}: Pick<Waiting, 'level' | 'takesRecovery'> & { readonly isTotpWaiting: boolean }): boolean {
  return isTotpWaiting ? takesRecovery : level < PHISHING_RESISTANT;
}

async function renderSecond(
  c: PageContext,
  needs: SecondStepNeeds,
  page: PendingPage,
  { person, level, takesRecovery, session }: Waiting,
  refusal?: Refusal,
): Promise<Response> {
  const { formTokens, drawing, factors, passkeys } = needs;
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = needs.drawing.setting(c, authorization?.uiLocales);
  const formToken = await formTokens.make(c, 'second', page.sealed);
  const nowMs = needs.clock();
  const has = await factors.of(person.subject);
  const own = has.passkeys === 0 ? [] : await factors.passkeysOf(person.subject);
  const accepted = own.filter(
    ({ countsFromMs, isSecurityKey }) =>
      (takesRecovery || countsFromMs <= nowMs) && (!isSecurityKey || takesSecurityKey(session)),
  );
  const challenge = accepted.length === 0 ? undefined : await passkeys?.signInChallenge(formToken, accepted);
  const isTotpWaiting = (has.totpCountsFromMs ?? 0) > nowMs;
  const wait = refusal !== undefined && 'secondsToWait' in refusal ? refusal.secondsToWait : undefined;
  const view: SecondView = {
    action: `${drawing.basePath}/login/second?pending=${page.sealed}`,
    formToken,
    person: personShown(person),
    changePerson: `${drawing.basePath}/login?pending=${page.sealed}&other`,
    takesCode: has.hasTotp && isCodeEnough({ level, takesRecovery, isTotpWaiting }),
    takesRecoveryCode: has.recoveryCodes > 0 && takesRecovery,
    ...(challenge !== undefined && { challenge }),
    keys: keysAmong(accepted),
    lead: leadOf(page),
    ...(authorization !== undefined && {
      application: needs.drawing.application(authorization.client, setting.language),
    }),
    ...(refusal !== undefined && { problem: problemOf(refusal) }),
    ...(wait !== undefined && { secondsToWait: wait }),
  };
  return renderPage(c, {
    ...secondPage(view, setting),
    status: refusal === undefined ? 200 : wait === undefined ? 403 : 429,
    formMayLeave: authorization !== undefined,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  });
}

function keysAmong(accepted: readonly Pick<Passkey, 'isSecurityKey'>[]): SecondView['keys'] {
  const hasKey = accepted.some(({ isSecurityKey }) => isSecurityKey);
  if (!hasKey) return 'passkey';
  return accepted.every(({ isSecurityKey }) => isSecurityKey) ? 'securityKey' : 'both';
}

function problemOf({ refused }: Refusal): SecondProblem {
  if (refused === 'passkey_challenge_wrong' || refused === 'passkey_challenge_used')
    return 'passkey_too_late';
  if (refused === 'code_wrong' || refused === 'code_used' || refused === 'recovery_code_wrong')
    return refused;
  return refused === 'too_many_codes' || refused === 'passkey_waits' ? refused : 'passkey_refused';
}
