import { html } from 'hono/html';
import { type Level, PHISHING_RESISTANT } from '../config/acr.ts';
import type { Person } from '../data/people.ts';
import type { PageReason } from '../log/log.ts';
import { afterStep, byRecovery, METHODS } from '../people/acr.ts';
import type { Challenge } from '../people/passkeys.ts';
import type { CodeRefusal } from '../people/second_factors.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { toAccountPage } from './account_frame.ts';
import { applicationShown, named, personLine, personShown, uncheckedNote } from './application_shown.ts';
import { nextStep, proceed } from './authorization.ts';
import { operatorMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
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
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
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

/** `GET /login/second`: asks for a second factor, or only for what a session lacks. */
export function showSecond(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'second');
    const waiting = await waitingIn(c, parts, page);
    return waiting instanceof Response ? waiting : renderSecond(c, parts, page, waiting);
  };
}

/** `POST /login/second`: fields `code` or `recovery_code`, or the answer of a passkey. */
export function submitSecond(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'second');
    const clientId = clientIdOf(page);
    const form = await verifiedForm(c, parts, { page: 'second', about: [page.sealed], clientId });
    if (form.get('decision') === 'cancel' && 'authorization' in page) {
      parts.halfSignIns.forget(c);
      return cancelSignIn(c, parts, page);
    }
    const waiting = await waitingIn(c, parts, page);
    if (waiting instanceof Response) return waiting;
    const { subject } = waiting.person;
    const refuse = (refusal: Refusal | { readonly refused: PageReason }) =>
      parts.recordFailure(c, {
        ...{ page: 'second', reason: refusal.refused, subject, clientId },
        isCounted: passkeyAnswer(form) === undefined,
        isFirst: 'isFirst' in refusal && refusal.isFirst,
      });
    // A directory may have disabled the user since the password, or since the session began. Asks it before the step is
    // checked, so that an outage uses up no code.
    const admitted = await parts.signInParts.directory?.admit(waiting.person);
    if (admitted !== undefined && 'refused' in admitted) {
      parts.halfSignIns.forget(c);
      await refuse(admitted);
      if (waiting.session !== undefined)
        void parts.notifyClients(await parts.browserSessions.end(c, waiting.session));
      return redirectToPage(c, parts, 'login', page.pending);
    }
    const outcome = await check(parts, { ...waiting, ...admitted }, form);
    if ('refused' in outcome) {
      await refuse(outcome);
      return renderSecond(c, parts, page, waiting, outcome);
    }
    if (outcome.isRecovery)
      parts.requestLog.pageEvent({
        ...{ type: 'recovery_code_used', page: 'second', requestId: requestIdOf(c), subject },
        ...(clientId !== undefined && { clientId }),
      });
    const how = { page: 'second', ...outcome.how } as const;
    const finished = await finishSignIn(c, parts, page, outcome.person, how);
    if (finished !== undefined) return finished;
    parts.halfSignIns.forget(c);
    await refuse({ refused: 'person_changed' });
    return redirectToPage(c, parts, 'login', page.pending);
  };
}

/** A user who owes a further step. */
interface Waiting {
  readonly person: Person;
  readonly level: Level;
  readonly takesRecovery: boolean;
  /** The session that lacks the step; absent after a password. */
  readonly session?: BrowserSession;
}

/** @returns a response if no step is due here */
async function waitingIn(c: PageContext, parts: PageParts, page: PendingPage): Promise<Waiting | Response> {
  const half = await halfSignedIn(c, parts, page);
  if (half !== undefined) return half;
  const session = await parts.browserSessions.current(c);
  if (session === undefined) return redirectToPage(c, parts, 'login', page.pending);
  if ('authorization' in page) {
    // The session must meet everything else that the request asks of the sign-in.
    const step = await nextStep(parts, page, session);
    if (step.page !== 'second') return proceed(c, parts, page, session);
  } else if (await needsSignIn(parts, session, page.pending)) {
    return redirectToPage(c, parts, 'login', page.pending);
  }
  const missing = await missingOf(parts, session.person, session.amr, page);
  if (missing?.step === 'second') return { ...missing, person: session.person, session };
  return 'authorization' in page ? proceed(c, parts, page, session) : toAccountPage(c, parts, page.pending);
}

async function halfSignedIn(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
): Promise<Waiting | undefined> {
  const { halfSignIns, signInParts } = parts;
  const half = await halfSignIns.get(c, page.sealed);
  const person = half && (await signInParts.people.bySubject(half.subject));
  if (half === undefined || person === undefined || !halfSignIns.isCurrent(half, person)) return undefined;
  const state = await signInParts.storage.getPrincipalState('subject', person.subject);
  if (state?.disabledAtMs !== undefined) return undefined;
  // Revoking all tokens of a user also ends this: the password may be the reason, and may be elsewhere.
  if (state?.raisedAtMs !== undefined && state.raisedAtMs >= half.begunAtMs) return undefined;
  const missing = await missingOf(parts, person, METHODS.password, page);
  // The factors were removed in the meantime: the user starts again with the password.
  return missing?.step === 'second' ? { ...missing, person } : undefined;
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
  parts: PageParts,
  { person, level, takesRecovery, session }: Waiting,
  form: URLSearchParams,
): Promise<Passed | Refusal> {
  const { factors, secondFactors, clock } = parts;
  const answer = passkeyAnswer(form);
  if (answer !== undefined) {
    const outcome = await signInWithPasskey(parts, answer, person);
    if ('refused' in outcome) return outcome;
    const { id, countsFromMs } = outcome.passkey;
    if (!takesRecovery && countsFromMs > clock()) return { refused: 'passkey_waits' };
    // A passkey is a complete sign-in of its own.
    const methods = passkeyMethods(parts, outcome.passkey);
    const amr = session === undefined ? [...METHODS.password, ...methods] : methods;
    const isStillThere = async () => (await factors.passkey(id)) !== undefined;
    return { person, isRecovery: false, how: { amr, isStillThere } };
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
  const amr = afterStep(session?.amr ?? METHODS.password, methods);
  const how = { amr, isStillThere, ...(session !== undefined && { signedInAtMs: session.signedInAtMs }) };
  return { person, isRecovery: recovery !== null, how };
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
  parts: PageParts,
  page: PendingPage,
  { person, level, takesRecovery }: Waiting,
  refusal?: Refusal,
): Promise<Response> {
  const { formTokens, basePath, factors, passkeys } = parts;
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = pageSetting(c, parts, authorization?.uiLocales);
  const formToken = await formTokens.make(c, 'second', page.sealed);
  const nowMs = parts.clock();
  const has = await factors.of(person.subject);
  const own = has.passkeys === 0 ? [] : await factors.passkeysOf(person.subject);
  const accepted = own.filter(({ countsFromMs }) => takesRecovery || countsFromMs <= nowMs);
  const challenge = accepted.length === 0 ? undefined : await passkeys?.signInChallenge(formToken, accepted);
  const isTotpWaiting = (has.totpCountsFromMs ?? 0) > nowMs;
  const wait = refusal !== undefined && 'secondsToWait' in refusal ? refusal.secondsToWait : undefined;
  const view: SecondView = {
    action: `${basePath}/login/second?pending=${page.sealed}`,
    formToken,
    person: personShown(person),
    changePerson: `${basePath}/login?pending=${page.sealed}&other`,
    takesCode: has.hasTotp && isCodeEnough({ level, takesRecovery, isTotpWaiting }),
    takesRecoveryCode: has.recoveryCodes > 0 && takesRecovery,
    ...(challenge !== undefined && { challenge }),
    ...(authorization !== undefined && {
      application: applicationShown(authorization.client, setting.language, basePath),
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

function problemOf({ refused }: Refusal): SecondProblem {
  if (refused === 'passkey_challenge_wrong' || refused === 'passkey_challenge_used')
    return 'passkey_too_late';
  if (refused === 'code_wrong' || refused === 'code_used' || refused === 'recovery_code_wrong')
    return refused;
  return refused === 'too_many_codes' || refused === 'passkey_waits' ? refused : 'passkey_refused';
}

type SecondProblem = keyof Texts['second']['problems'];

export interface SecondView extends FormShown {
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly changePerson: string;
  /** Whether a code of the user’s app is enough. */
  readonly takesCode: boolean;
  readonly takesRecoveryCode: boolean;
  /** Absent if the user has no passkey, or the server has none. */
  readonly challenge?: Challenge;
  readonly application?: ApplicationShown;
  readonly problem?: SecondProblem;
  readonly secondsToWait?: number;
}

/**
 * `/login/second`: button `passkey-submit`; field `code` with `second-submit`; field `recovery_code` with
 * `recovery-submit`; for an application also `login-cancel`.
 */
export function secondPage(view: SecondView, setting: PageSetting): Page {
  const { application, problem, challenge, takesCode, takesRecoveryCode } = view;
  const texts = textsIn(setting.language);
  const { second: words } = texts;
  return {
    ...setting,
    title: problem === undefined ? words.title : texts.problemTitle(words.title),
    namesOperator: true,
    scripts: [PASSKEY_SCRIPT],
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${words.title}</h1>
<p class="lead">${application === undefined ? texts.signIn.toAccount : texts.signIn.toContinueTo(named(application.name))}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? '' : problemBox(view, problem, texts)}
${personLine(words.signingInAs, view.person, html`<a id="change-person" href="${view.changePerson}">${texts.signIn.notYou}</a>`)}
${challenge === undefined ? '' : passkeyForm({ ...view, challenge, button: { id: 'passkey-submit', text: words.usePasskey, isPrimary: true } }, texts)}
${challenge === undefined ? '' : html`<noscript><p class="note">${texts.passkeys.needsScripts}</p></noscript>`}
${takesCode ? codeForm(view, texts) : ''}
${takesRecoveryCode ? recoveryForm(view, texts) : ''}
${application === undefined ? '' : cancelForm(view, texts)}
<p class="note">${words.lost}</p>
${passkeyScript()}`,
  };
}

function codeForm({ action, formToken, problem, challenge }: SecondView, { second: words }: Texts): Html {
  const isWrong = problem === 'code_wrong' || problem === 'code_used';
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="code">${words.code}</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required${isWrong ? html` aria-describedby="problem" aria-invalid="true"` : ''}${challenge === undefined ? html` autofocus` : ''}>
<button id="second-submit" type="submit"${challenge === undefined ? html` class="primary"` : ''}>${words.submit}</button>
</form>`;
}

function recoveryForm({ action, formToken, problem }: SecondView, { second: words }: Texts): Html {
  const isWrong = problem === 'recovery_code_wrong';
  return html`<details${isWrong ? html` open` : ''}>
<summary id="use-recovery-code">${words.useRecovery}</summary>
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="recovery-code">${words.recoveryCode}</label>
<input id="recovery-code" name="recovery_code" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="40" required${isWrong ? html` aria-describedby="problem" aria-invalid="true"` : ''}>
<button id="recovery-submit" type="submit">${words.submitRecovery}</button>
</form>
</details>`;
}

function cancelForm({ action, formToken }: SecondView, texts: Texts): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="login-cancel" type="submit" name="decision" value="cancel">${texts.signIn.cancel}</button>
</form>`;
}

function problemBox({ secondsToWait }: SecondView, problem: SecondProblem, texts: Texts): Html {
  const wait =
    secondsToWait === undefined ? '' : texts.signIn.tryAgainIn(texts.formats.duration(secondsToWait));
  return html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${texts.second.problems[problem]} ${wait}</span></p>`;
}
