import { html } from 'hono/html';
import type { Challenge } from '../../people/passkeys.ts';
import type { Html } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { Lead } from '../browser/pending.ts';
import { named, personLine, uncheckedNote } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../drawing/layout.ts';
import { PASSKEY_SCRIPT, passkeyForm, passkeyScript } from '../drawing/passkey_form.ts';
import { cancelForm, signInProblem } from './login_page.ts';

export type SecondProblem = keyof Texts['second']['problems'];

export interface SecondView extends FormShown {
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly changePerson: string;
  /** Whether a code of the user’s app is enough. */
  readonly takesCode: boolean;
  readonly takesRecoveryCode: boolean;
  /** Absent if the user has no passkey, or the server has none. */
  readonly challenge?: Challenge;
  /** What answers the challenge. Default: a passkey. */
  readonly keys?: 'passkey' | 'securityKey' | 'both' | undefined;
  readonly application?: ApplicationShown;
  /** As on the sign-in page. */
  readonly lead?: Lead;
  readonly problem?: SecondProblem;
  readonly secondsToWait?: number;
}

/**
 * `/login/second`: button `passkey-submit`; field `code` with `second-submit`; field `recovery_code` with
 * `recovery-submit`; for an application also `login-cancel`.
 */
export function secondPage(view: SecondView, setting: PageSetting): Page {
  const { application, lead = 'toAccount', problem, challenge, takesCode, takesRecoveryCode } = view;
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
<p class="lead">${application === undefined ? texts.signIn[lead] : texts.signIn.toContinueTo(named(application.name))}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? '' : signInProblem(texts.second.problems[problem], view.secondsToWait, texts)}
${personLine(words.signingInAs, view.person, html`<a id="change-person" href="${view.changePerson}">${texts.signIn.notYou}</a>`)}
${challenge === undefined ? '' : passkeyForm({ ...view, challenge, button: { id: 'passkey-submit', text: words.use[view.keys ?? 'passkey'], isPrimary: true } }, texts)}
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
