import { html } from 'hono/html';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { Lead } from '../browser/pending.ts';
import { applicationLinks, named, uncheckedNote } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting } from '../drawing/layout.ts';
import { cancelForm, signInProblem } from './login_page.ts';

export type EmailCodeProblem = keyof Texts['emailCode']['problems'];

export interface EmailCodeView extends FormShown {
  /** The username or address that was typed. */
  readonly typed: string;
  /** URL at which the user can sign in with a password. */
  readonly back: string;
  readonly application?: ApplicationShown;
  /** As on the sign-in page. */
  readonly lead?: Lead;
  readonly problem?: EmailCodeProblem;
  readonly secondsToWait?: number;
}

/**
 * `/login/code`: field `code` with `code-submit`; button `code-again`; for an application also `login-cancel`. It says the
 * same whether or not an email is on its way.
 */
export function emailCodePage(view: EmailCodeView, setting: PageSetting): Page {
  const { action, formToken, application, lead = 'toAccount', problem, typed, back } = view;
  const texts = textsIn(setting.language);
  const { emailCode: words } = texts;
  const isWrong = problem === 'code_wrong' || problem === 'code_guessed';
  return {
    ...setting,
    title: problem === undefined ? words.title : texts.problemTitle(words.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${words.title}</h1>
<p class="lead">${application === undefined ? texts.signIn[lead] : texts.signIn.toContinueTo(named(application.name))}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? html`<p id="code-sent" role="status">${words.sent(html`<bdi>${typed}</bdi>`)}</p>` : signInProblem(words.problems[problem], view.secondsToWait, texts)}
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="code">${words.code}</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="24" required autofocus${isWrong ? html` aria-describedby="problem" aria-invalid="true"` : ''}>
<button id="code-submit" type="submit" class="primary">${words.submit}</button>
</form>
<p class="note">${words.help}</p>
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="code-again" type="submit" name="decision" value="again">${words.again}</button>
</form>
<ul class="links" role="list"><li><a id="use-password" href="${back}">${words.usePassword}</a></li></ul>
${application === undefined ? '' : cancelForm(view, texts)}
${application === undefined ? '' : applicationLinks(application, texts)}`,
  };
}
