import { html } from 'hono/html';
import type { Challenge } from '../../people/passkeys.ts';
import type { Html } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { Lead } from '../browser/pending.ts';
import { applicationLinks, named, personLine, uncheckedNote } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import { forgotLink, problemBox, REVEAL_SCRIPT, revealButton, revealScript } from '../drawing/fields.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../drawing/layout.ts';
import { PASSKEY_SCRIPT, passkeyForm, passkeyScript } from '../drawing/passkey_form.ts';
import { type ProviderButton, providerButtons } from '../drawing/providers_shown.ts';

export type SignInProblem = keyof Texts['signIn']['problems'];

/** What the page offers besides the password, by the configuration of the server. */
export interface SignInOffers {
  /** Whether the user may type their email address instead of the username. */
  readonly takesAddress?: boolean;
  /** URL for users who have forgotten their password; absent if the server sends no emails. */
  readonly forgot?: string;
  /** URL for people without an account; absent if sign-up is off. */
  readonly signUp?: string;
  /** Absent if the server sends no codes. */
  readonly emailCode?: EmailCodeOffer;
}

interface EmailCodeOffer {
  /** URL that sends a code. */
  readonly action: string;
  /** URL of the page with a password, if the code is the usual way. */
  readonly passwordUrl?: string;
}

export interface SignInView extends FormShown, SignInOffers {
  /** The requesting application; absent on the way to a page of this server. */
  readonly application?: ApplicationShown;
  /** Where the sign-in leads without an application. Default: to the account. */
  readonly lead?: Lead;
  /** Initial value of the field: a hint or the previous input; may be empty. */
  readonly username: string;
  /** Whether the password comes later, because the address may lead to a provider. */
  readonly asksOnlyName?: boolean;
  readonly problem?: SignInProblem;
  /** Present with a temporary problem. */
  readonly secondsToWait?: number;
  /** Identity providers at which the user can sign in. */
  readonly providers?: readonly ProviderButton[];
  /** Absent if no user has a passkey. */
  readonly challenge?: Challenge;
  /** Present if a signed-in user must enter the password again. */
  readonly again?: SignInAgain;
}

export interface SignInAgain {
  readonly person: PersonShown;
  readonly reason: 'requested' | 'tooLongAgo';
  /** URL at which another user can sign in. */
  readonly changePerson: string;
}

/**
 * `/login`: fields `username` and, unless it comes later, `password`, button `login-submit`; for an application also the
 * button `login-cancel`, which sends the field `decision` as `cancel`; with passkeys the button `passkey-submit`. The
 * page shows only the operator’s brand, because the password goes to the operator (ADR 39).
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
<p class="lead">${leadText(view, texts)}</p>
</header>
${uncheckedNote(application, setting, texts)}
${problem === undefined ? '' : signInProblem(texts.signIn.problems[problem], view.secondsToWait, texts)}
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

function otherWays({ signUp, again }: SignInView, { signIn: words }: Texts): Html | '' {
  if (signUp === undefined || again !== undefined) return '';
  return html`<p class="links"><a id="sign-up" href="${signUp}">${words.signUp}</a></p>`;
}

/** A separate form, so that the typed password is not sent. */
export function cancelForm({ action, formToken }: FormShown, texts: Texts): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="login-cancel" type="submit" class="quiet" name="decision" value="cancel">${texts.signIn.cancel}</button>
</form>`;
}

function leadText({ application, again, lead = 'toAccount' }: SignInView, texts: Texts): Html | string {
  if (again !== undefined) {
    const { again: reasons } = texts.signIn;
    return application === undefined ? reasons.forAccount : reasons[again.reason](named(application.name));
  }
  return application === undefined ? texts.signIn[lead] : texts.signIn.toContinueTo(named(application.name));
}

/** What is wrong with a sign-in, and how long the user has to wait. */
export function signInProblem(text: string, secondsToWait: number | undefined, texts: Texts): Html {
  const wait =
    secondsToWait === undefined ? '' : texts.signIn.tryAgainIn(texts.formats.duration(secondsToWait));
  return problemBox(html`${text} ${wait}`);
}

const INVALID = html` aria-invalid="true"`;

function form(view: SignInView, texts: Texts): Html {
  const { action, formToken, username, problem, again, asksOnlyName = false, forgot } = view;
  const passwordUrl = asksOnlyName && username !== '' ? undefined : view.emailCode?.passwordUrl;
  if (passwordUrl !== undefined) return codeForm(view, passwordUrl, texts);
  const describedBy = problem === undefined ? '' : html` aria-describedby="problem"`;
  const isInvalid = problem === 'credentials_wrong' ? INVALID : '';
  const focus = html` autofocus`;
  const nameFirst = username === '' || asksOnlyName;
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
${nameField(view, texts, html`${describedBy}${problem === 'name_missing' ? INVALID : isInvalid}${nameFirst ? focus : ''}`)}
${
  asksOnlyName
    ? ''
    : html`<div class="field">
<label for="password">${texts.signIn.password}</label>
<div class="secret">
<input id="password" name="password" type="password" autocomplete="current-password" required${describedBy}${isInvalid}${nameFirst ? '' : focus}>
${revealButton('password', texts)}
</div>${forgotLink(forgot, texts)}
</div>`
}
<button id="login-submit" type="submit" class="primary">${again === undefined && !asksOnlyName ? texts.signIn.submit : texts.signIn.submitAgain}</button>
${view.emailCode === undefined || asksOnlyName ? '' : html`<button id="code-send" type="submit" formaction="${view.emailCode.action}" formnovalidate>${texts.emailCode.send}</button>\n`}</form>`;
}

function nameField(view: SignInView, texts: Texts, attributes: Html): Html {
  const { username, again, challenge, asksOnlyName = false } = view;
  const takesAddress = asksOnlyName || (view.takesAddress === true && again === undefined);
  return html`<label for="username">${takesAddress ? texts.forgot.usernameOrEmail : texts.signIn.username}</label>
<input id="username" name="username" value="${username}" autocomplete="${challenge === undefined ? 'username' : 'username webauthn'}" autocapitalize="none" autocorrect="off" spellcheck="false" maxlength="256" required${again === undefined ? '' : html` readonly`}${attributes}>`;
}

/** Asks for the password only on request. */
function codeForm(view: SignInView, passwordUrl: string, texts: Texts): Html {
  return html`<form method="post" action="${view.emailCode?.action ?? ''}">
<input type="hidden" name="form_token" value="${view.formToken}">
${nameField(view, texts, html`${view.problem === 'name_missing' ? html` aria-describedby="problem"${INVALID}` : ''} autofocus`)}
<button id="code-send" type="submit" class="primary">${texts.emailCode.send}</button>
</form>
<ul class="links" role="list"><li><a id="use-password" href="${passwordUrl}">${texts.emailCode.usePassword}</a></li></ul>`;
}
