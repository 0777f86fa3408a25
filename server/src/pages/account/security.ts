import { html } from 'hono/html';
import type { OwnPasswords } from '../../people/own_passwords.ts';
import type { PasswordProblem, PasswordRules } from '../../people/passwords.ts';
import type { SelfService } from '../../people/self_service.ts';
import { textsIn } from '../../texts/texts.ts';
import type { PerformedForms } from '../browser/forms.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { passwordField, problemBox, REVEAL_SCRIPT, revealScript } from '../drawing/fields.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import { type ProvidersOfAccount, providersSection } from '../drawing/providers_shown.ts';
import {
  type CurrentPasswordProblem,
  checkPassword,
  currentPasswordField,
  currentPasswordText,
  isAboutCurrent,
  isPassword,
  type PasswordCheckNeeds,
  type RefusedPassword,
} from './current_password.ts';
import { type FactorsNeeds, factorsView } from './factors.ts';
import {
  FACTORS_SCRIPTS,
  type FactorsView,
  factorsHead,
  factorsSections,
  showsUnsavedCodes,
} from './factors_page.ts';
import { type AccountView, accountFrame, accountView, confirmForm, type LinkedProviders } from './frame.ts';
import {
  endOtherSessions,
  type HistoryNeeds,
  historyOf,
  recentSignIns,
  type SignInShown,
} from './sessions.ts';

export interface SecurityNeeds extends FactorsNeeds, HistoryNeeds, PasswordCheckNeeds {
  readonly selfService: SelfService;
  readonly passwords: OwnPasswords;
  readonly passwordRules: PasswordRules;
  readonly performedForms: PerformedForms;
  /** `undefined` if none is configured. */
  readonly providers: LinkedProviders | undefined;
}

/** `GET /account/security`. */
export function showSecurity(needs: SecurityNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'security');
    if (session instanceof Response) return session;
    return renderPage(c, await securityOf(c, needs, session));
  };
}

/**
 * `POST /account/security`: changes the password, and signs out all other browsers. The same form again finds its work
 * done: its current password is wrong by now, but its new one is right (ADR 173).
 */
export function submitSecurity(needs: SecurityNeeds) {
  return needs.visits.form('security', 'password', async (c, session, form) => {
    const refuse = async (problem: SecurityView['problem'], of: RefusedPassword = {}) => {
      const page = await securityOf(c, needs, session, { ...of, ...(problem && { problem }) });
      return renderPage(c, { ...page, status: of.status ?? 400 });
    };
    const showChanged = () => needs.visits.show(c, session, 'security', { done: 'password_changed' });
    const password = form.get('new_password') ?? '';
    const performed = await needs.performedForms.find(c, 'password_changed');
    if (performed !== undefined && (await isPassword(c, needs, session, password))) return showChanged();
    const checked = await checkPassword(c, needs, session, form.get('current_password') ?? '');
    if ('refusal' in checked) return refuse(checked.refusal.problem, checked.refusal);
    const { person } = checked;
    const { name, claims } = person;
    const problem = await needs.passwordRules.problemOf(password, { name, email: claims.email });
    if (problem !== undefined) return refuse(problem);
    // Comes before the change, so that a fault in between leaves a form that can be sent again.
    await needs.performedForms.remember(c, 'password_changed');
    const { language } = needs.drawing.setting(c);
    const changed = await needs.selfService.changePassword(person, password, language);
    if (changed === undefined) return refuse('credentials_wrong', { status: 403 });
    const { subject } = person;
    needs.requestLog.pageEvent({
      type: 'password_changed',
      page: 'account',
      requestId: requestIdOf(c),
      subject,
    });
    // A copy of the cookie ends too.
    const { amr, signedInAtMs } = session;
    await needs.browserSessions.begin(c, changed, { amr, signedInAtMs });
    await endOtherSessions(c, needs, session, 'password_set');
    return showChanged();
  });
}

async function securityOf(
  c: PageContext,
  needs: SecurityNeeds,
  session: BrowserSession,
  refused: Pick<SecurityView, 'problem' | 'secondsToWait'> = {},
): Promise<Page> {
  const providers = await needs.providers?.ofAccount(c, session);
  const view = {
    ...(await accountView(c, needs, session, 'security')),
    minLength: needs.passwordRules.minLength,
    username: session.person.name,
    ...(needs.mail !== undefined && { forgot: `${needs.drawing.basePath}/forgot` }),
    isOfDirectory: session.person.directoryId !== undefined,
    ...(!needs.passwords.has(session.person) && { hasNoPassword: true }),
    ...(providers !== undefined && { providers }),
    mayChangePassword: (await needs.missing.ofChange(session, 'password')) === undefined,
    factors: await factorsView(c, needs, session),
    signIns: await historyOf(needs, session),
    nowMs: needs.clock(),
    ...refused,
  };
  return securityPage(view, needs.drawing.setting(c));
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
  const hasForm =
    view.hasNoPassword !== true && view.isOfDirectory !== true && view.mayChangePassword && !factors.isNeeded;
  const isWithout = view.hasNoPassword === true && view.isOfDirectory !== true;
  const hasMoreUrgent =
    factors.isNeeded || view.providers?.waiting !== undefined || showsUnsavedCodes(factors);
  const passwordForm = view.mayChangePassword
    ? html`${problem === undefined ? '' : problemBox(isCurrentWrong ? currentPasswordText(problem, view.secondsToWait, texts) : passwords.problems[problem](minLength))}
<div class="fields">
<form method="post" action="${view.base}/security">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="text" class="unseen" value="${view.username}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${currentPasswordField(problem, texts, view.forgot)}
${passwordField({ id: 'new-password', name: 'new_password', label: passwords.newPassword, autocomplete: 'new-password', hint: passwords.hint(minLength), isWrong: isNewWrong, isFocused: isNewWrong }, texts, minLength)}
<button id="change-password" type="submit"${hasMoreUrgent ? '' : html` class="primary"`}>${account.changePassword}</button>
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
      title: factors.isNeeded ? texts.factors.neededTitle : account.pages.security,
      lead: account.securityText,
      isProblem: problem !== undefined,
      body: html`${factorsHead(factors, texts)}
${
  // The user came for a factor, and goes on once it is there.
  factors.isNeeded
    ? sections
    : html`${passwordSection}
${sections}
${view.providers === undefined ? '' : providersSection(view.providers, view, texts)}
${recentSignIns(view, texts)}`
}
${hasForm ? revealScript() : ''}`,
    }),
    scripts: [...FACTORS_SCRIPTS, ...(hasForm ? [REVEAL_SCRIPT] : [])],
    // The forms of providers lead to them.
    formMayLeave: view.providers !== undefined,
  };
}
