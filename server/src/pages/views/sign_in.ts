import { html } from 'hono/html';
import { operatorMark } from '../brand.ts';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { applicationLinks } from './application_links.ts';
import { named, personLine, uncheckedNote } from './name.ts';

export type SignInProblem = keyof Texts['signIn']['problems'];

export interface SignInView extends FormShown {
  /** Who asks; absent where a person comes to their account. */
  readonly application?: ApplicationShown;
  /** What stands in the field already: a hint, or what was typed before; empty for nothing. */
  readonly username: string;
  readonly problem?: SignInProblem;
  /** With a problem that passes. */
  readonly secondsToWait?: number;
  /** Where someone is signed in, and has to show again that it is they. */
  readonly again?: SignInAgain;
}

export interface SignInAgain {
  readonly person: PersonShown;
  readonly reason: 'asked' | 'tooLongAgo';
  /** An address where another person may sign in instead. */
  readonly changePerson: string;
}

/**
 * `/login`: fields `username` and `password`, button `login-submit`; for an application also the button `login-cancel`,
 * which sends the field `decision` as `cancel`. It wears the operator's brand alone: whoever types a password here gives
 * it to the operator.
 */
export function signInPage(view: SignInView, setting: PageSetting): Page {
  const { application, again, problem } = view;
  const texts = textsIn(setting.language);
  const title = again === undefined ? texts.signIn.title : texts.signIn.titleAgain;
  return {
    ...setting,
    title: problem === undefined ? title : texts.problemTitle(title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${title}</h1>
<p class="lead">${leadOf(view, texts)}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? '' : problemBox(view, problem, texts)}
${again === undefined ? '' : personLine(texts.signIn.signedInAs, again.person, html`<a id="change-person" href="${again.changePerson}">${texts.signIn.notYou}</a>`)}
${form(view, texts)}
${application === undefined ? '' : cancelForm(view, texts)}
${application === undefined || application.isUnchecked === true ? '' : applicationLinks(application, texts)}`,
  };
}

/** A form of its own: what was typed into the other one is not sent along. */
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

function form({ action, formToken, username, problem, again }: SignInView, texts: Texts): Html {
  const describedBy = problem === undefined ? '' : html` aria-describedby="problem"`;
  const isInvalid = problem === 'credentials_wrong' ? html` aria-invalid="true"` : '';
  const focus = html` autofocus`;
  const nameFirst = username === '';
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<label for="username">${texts.signIn.username}</label>
<input id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="256" required${again === undefined ? '' : html` readonly`}${describedBy}${isInvalid}${nameFirst ? focus : ''}>
<label for="password">${texts.signIn.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${describedBy}${isInvalid}${nameFirst ? '' : focus}>
<button id="login-submit" type="submit" class="primary">${again === undefined ? texts.signIn.submit : texts.signIn.submitAgain}</button>
</form>`;
}
