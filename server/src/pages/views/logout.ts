import { html } from 'hono/html';
import { brandMark } from '../brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import { textsIn } from '../texts/texts.ts';
import { named } from './name.ts';

export interface LogoutView extends FormShown {
  /** Who is signed in; absent where nobody is known to be. */
  readonly person?: PersonShown;
  /** Which application sent the person here, where that is certain. */
  readonly application?: ApplicationShown;
}

/** `/logout`: buttons `logout-yes` and `logout-no`, which send the field `decision` as `yes` or `no`. */
export function logoutPage(view: LogoutView, setting: PageSetting): Page {
  const { application, person } = view;
  const { logout } = textsIn(setting.language);
  return {
    ...setting,
    title: logout.title,
    ...(application?.color !== undefined && { color: application.color }),
    body: html`<header>
${brandMark(application ?? setting.operator, setting.operator.color)}
<h1>${logout.title}</h1>
${application === undefined ? '' : html`<p class="lead">${logout.askedBy(named(application.name))}</p>`}
</header>
<p>${person === undefined ? '' : logout.question(named(person.name))} ${logout.consequence}</p>
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="logout-yes" type="submit" name="decision" value="yes" class="primary">${logout.yes}</button>
<button id="logout-no" type="submit" name="decision" value="no">${logout.no}</button>
</div>
</form>`,
  };
}

export interface SignedOutView {
  /** Names of the applications that are being told of it. */
  readonly applicationsToTell?: readonly string[];
  /** An address to sign in again. */
  readonly signIn?: string;
}

export function signedOutPage(view: SignedOutView, setting: PageSetting): Page {
  const { applicationsToTell = [], signIn } = view;
  const { logout } = textsIn(setting.language);
  return {
    ...setting,
    title: logout.doneTitle,
    body: html`<header>
${brandMark(setting.operator)}
<h1>${logout.doneTitle}</h1>
<p class="lead">${logout.done}</p>
</header>
${applicationsToTell.length === 0 ? '' : html`<section id="telling"><h2>${logout.telling}</h2><ul class="bullets">${applicationsToTell.map((name) => html`<li>${named(name)}</li>`)}</ul><p class="note">${logout.tellingNote}</p></section>`}
${signIn === undefined ? '' : html`<a id="sign-in-again" class="button" href="${signIn}">${logout.signInAgain}</a>`}`,
  };
}

export interface StillSignedInView {
  readonly person?: PersonShown;
  /** Address of the account page. */
  readonly account: string;
}

/** After `logout-no`. */
export function stillSignedInPage({ person, account }: StillSignedInView, setting: PageSetting): Page {
  const { logout } = textsIn(setting.language);
  return {
    ...setting,
    title: logout.stillTitle,
    body: html`<header>
${brandMark(setting.operator)}
<h1>${logout.stillTitle}</h1>
<p class="lead">${logout.still} ${person === undefined ? '' : logout.question(named(person.name))}</p>
</header>
<a id="to-account" class="button" href="${account}">${logout.toAccount}</a>`,
  };
}
