import { html } from 'hono/html';
import type { Person } from '../data/people.ts';
import type { PasswordProblem } from '../people/passwords.ts';
import { signIn } from '../people/sign_in.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import {
  FACTORS_SCRIPTS,
  type FactorsView,
  factorsHead,
  factorsSections,
  factorsView,
} from './account_factors.ts';
import { accountForm, confirmForm } from './account_form.ts';
import { type AccountView, accountFrame, accountView, openAccount, toAccount } from './account_frame.ts';
import { endOtherSessions, historyOf, recentSignIns, type SignInShown } from './account_sessions.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { passwordField, problemBox, REVEAL_SCRIPT, revealScript } from './fields.ts';
import { type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { missingOfChange } from './missing_step.ts';
import { type PageContext, type PageParts, placeFinder, requestIdOf } from './page_parts.ts';
import { type ProvidersOfAccount, providersSection } from './provider_page.ts';
import { providersOfAccount } from './upstream_pages.ts';

/** `GET /account/security`. */
export function showSecurity(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const session = await openAccount(c, parts, 'security');
    if (session instanceof Response) return session;
    return renderPage(c, await securityOf(c, parts, session));
  };
}

/** `POST /account/security`: changes the password, and signs out all other browsers. */
export function submitSecurity(parts: PageParts) {
  return accountForm(parts, 'security', 'password', async (c, session, form) => {
    const refuse = async (problem: SecurityView['problem'], of: RefusedPassword = {}) => {
      const page = await securityOf(c, parts, session, { ...of, ...(problem && { problem }) });
      return renderPage(c, { ...page, status: of.status ?? 400 });
    };
    const checked = await checkPassword(c, parts, session, form.get('current_password') ?? '');
    if ('refusal' in checked) return refuse(checked.refusal.problem, checked.refusal);
    const { person } = checked;
    const password = form.get('new_password') ?? '';
    const { name, claims } = person;
    const problem = await parts.passwordRules.problemOf(password, { name, email: claims.email });
    if (problem !== undefined) return refuse(problem);
    const { language } = pageSetting(c, parts);
    const changed = await parts.selfService.changePassword(person, password, language);
    if (changed === undefined) return refuse('credentials_wrong', { status: 403 });
    const { subject } = person;
    parts.requestLog.pageEvent({
      type: 'password_changed',
      page: 'account',
      requestId: requestIdOf(c),
      subject,
    });
    // A cookie that somebody has copied ends too.
    const { amr, signedInAtMs } = session;
    await parts.browserSessions.begin(c, changed, { amr, signedInAtMs });
    await endOtherSessions(c, parts, session);
    return toAccount(c, parts, session, 'security', { done: 'password_changed' });
  });
}

async function securityOf(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  refused: Pick<SecurityView, 'problem' | 'secondsToWait'> = {},
): Promise<Page> {
  const providers = await providersOfAccount(c, parts, session);
  const view = {
    ...(await accountView(c, parts, session, 'security')),
    minLength: parts.passwordRules.minLength,
    username: session.person.name,
    ...(parts.mail !== undefined && { forgot: `${parts.basePath}/forgot` }),
    isOfDirectory: session.person.directoryId !== undefined,
    ...(!parts.passwords.has(session.person) && { hasNoPassword: true }),
    ...(providers !== undefined && { providers }),
    mayChangePassword: (await missingOfChange(parts, session, 'password')) === undefined,
    factors: await factorsView(c, parts, session),
    signIns: await historyOf(parts, session),
    nowMs: parts.clock(),
    ...refused,
  };
  return securityPage(view, pageSetting(c, parts));
}

/** Why the current password of a form does not count. */
interface RefusedPassword {
  readonly problem?: CurrentPasswordProblem;
  readonly status?: 400 | 403 | 429 | 503;
  readonly secondsToWait?: number;
}

export type CurrentPasswordProblem = 'credentials_wrong' | 'too_many_attempts' | 'too_many_sign_ins';

/** Checks the current password of a signed-in user. Wrong ones count like those of the sign-in page. */
export async function checkPassword(
  c: PageContext,
  parts: PageParts,
  { person, id }: BrowserSession,
  password: string,
): Promise<
  | { readonly person: Person }
  | { readonly refusal: Required<Pick<RefusedPassword, 'problem' | 'status'>> & RefusedPassword }
> {
  const outcome = await signIn(parts.signInParts, person.name, password, placeFinder(c, parts));
  if ('person' in outcome && outcome.person.subject === person.subject) return outcome;
  const reason = 'refused' in outcome ? outcome.refused : 'password_wrong';
  const { subject } = person;
  const isFirst = 'isFirst' in outcome && outcome.isFirst;
  const failure = { page: 'account', reason, subject, sessionId: id, isCounted: true, isFirst } as const;
  await parts.recordFailure(c, failure);
  if (!('refused' in outcome) || !('secondsToWait' in outcome))
    return { refusal: { problem: 'credentials_wrong', status: 403 } };
  const { refused, secondsToWait } = outcome;
  if (refused === 'too_many_sign_ins') return { refusal: { problem: refused, status: 503, secondsToWait } };
  return { refusal: { problem: 'too_many_attempts', status: 429, secondsToWait } };
}

export interface SecurityView extends AccountView {
  readonly minLength: number;
  /** For the user’s password manager. */
  readonly username: string;
  /** URL for users who have forgotten their password; absent if the server sends no emails. */
  readonly forgot?: string;
  /** Whether a directory has the password, so that it cannot be changed here. */
  readonly isOfDirectory?: boolean;
  /** Whether the user signs in without a password here. */
  readonly hasNoPassword?: boolean;
  /** Whether the user has shown enough to change the password now. */
  readonly mayChangePassword: boolean;
  readonly factors: FactorsView;
  readonly problem?: CurrentPasswordProblem | PasswordProblem;
  readonly secondsToWait?: number;
  readonly providers?: ProvidersOfAccount;
  readonly signIns: readonly SignInShown[];
  readonly nowMs: number;
}

/**
 * `/account/security`: fields `current_password` and `new_password`, button `change-password`; the sections of
 * `factorsSections` and `recentSignIns`.
 */
export function securityPage(view: SecurityView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account, passwords } = texts;
  const { problem, minLength, factors } = view;
  const isCurrentWrong = isAboutCurrent(problem);
  const isNewWrong = problem !== undefined && !isCurrentWrong;
  const hasForm = view.hasNoPassword !== true && view.isOfDirectory !== true && view.mayChangePassword;
  const isWithout = view.hasNoPassword === true && view.isOfDirectory !== true;
  const passwordForm = view.mayChangePassword
    ? html`${problem === undefined ? '' : problemBox(isCurrentWrong ? currentPasswordText(problem, view.secondsToWait, texts) : passwords.problems[problem](minLength))}
<div class="fields">
<form method="post" action="${view.base}/security">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="text" class="unseen" value="${view.username}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${currentPasswordField(problem, texts)}
${passwordField({ id: 'new-password', name: 'new_password', label: passwords.newPassword, autocomplete: 'new-password', hint: passwords.hint(minLength), isWrong: isNewWrong, isFocused: isNewWrong }, texts, minLength)}
<button id="change-password" type="submit"${factors.isNeeded ? '' : html` class="primary"`}>${account.changePassword}</button>
${view.forgot === undefined ? '' : html`<a id="forgot-password" href="${view.forgot}">${texts.signIn.forgot}</a>`}
</form>
</div>
`
    : confirmForm({ ...view, action: `${view.base}/security` }, 'confirm-to-change-password', texts);
  // A password here would be of no use.
  const passwordSection = isWithout
    ? ''
    : html`<section aria-labelledby="password">
<h2 id="password">${account.password}</h2>
${view.isOfDirectory === true ? html`<p id="password-of-directory">${account.passwordOfDirectory}</p>` : passwordForm}
</section>`;
  const sections = factorsSections(factors, texts);
  return {
    ...accountFrame(view, setting, {
      title: account.pages.security,
      lead: account.securityText,
      isProblem: problem !== undefined,
      body: html`${factorsHead(factors, texts)}
${factors.isNeeded ? html`${sections}\n${passwordSection}` : html`${passwordSection}\n${sections}`}
${view.providers === undefined ? '' : providersSection(view.providers, view, texts)}
${recentSignIns(view, texts)}
${hasForm ? revealScript() : ''}`,
    }),
    scripts: [...FACTORS_SCRIPTS, ...(hasForm ? [REVEAL_SCRIPT] : [])],
    // The forms of providers lead to them.
    formMayLeave: view.providers !== undefined,
  };
}

export function isAboutCurrent(problem: unknown): problem is CurrentPasswordProblem {
  return (
    problem === 'credentials_wrong' || problem === 'too_many_attempts' || problem === 'too_many_sign_ins'
  );
}

export function currentPasswordText(
  problem: CurrentPasswordProblem,
  secondsToWait: number | undefined,
  { signIn: words, passwords, formats }: Texts,
): string {
  const text = problem === 'credentials_wrong' ? passwords.currentWrong : words.problems[problem];
  return secondsToWait === undefined ? text : `${text} ${words.tryAgainIn(formats.duration(secondsToWait))}`;
}

/** The field for the current password, with what is wrong with it. */
export function currentPasswordField(problem: unknown, texts: Texts): Html {
  return passwordField(
    {
      ...{ id: 'current-password', name: 'current_password', autocomplete: 'current-password' },
      label: texts.passwords.currentPassword,
      isWrong: problem === 'credentials_wrong',
      isFocused: isAboutCurrent(problem),
    },
    texts,
  );
}
