import type { BrowserDelivery } from '@grantd/core';
import { html } from 'hono/html';
import { applicationMark, operatorMark } from '../brand.ts';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { wayOut } from './leaving.ts';
import { applicationName, named, uncheckedNote } from './name.ts';

export interface LogoutView extends FormShown {
  /** Who is signed in; absent where nobody is known to be. */
  readonly person?: PersonShown;
  /** Which application sent the person here, where that is certain. */
  readonly application?: ApplicationShown;
  /** Whether the request names a place to go to afterwards that is not registered. */
  readonly staysHere?: boolean;
}

/** `/logout`: buttons `logout-yes` and `logout-no`, which send the field `decision` as `yes` or `no`. */
export function logoutPage(view: LogoutView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { logout } = texts;
  return {
    ...setting,
    title: logout.title,
    ...(application?.color !== undefined && { color: application.color }),
    body: html`<header>
${application === undefined ? operatorMark(setting.operator) : applicationMark(application, setting.operator)}
<h1>${logout.title}</h1>
${application === undefined ? '' : html`<p class="lead">${logout.askedBy(named(application.name))}</p>`}
</header>
${uncheckedNote(application, setting, texts)}
${view.staysHere === true ? html`<p id="stays-here" class="caution">${icon('alert')}<span>${logout.staysHere}</span></p>` : ''}
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
  /** Those that the person was signed in to, and whether they know of it. */
  readonly applications?: readonly { readonly application: ApplicationShown; readonly hearing: Hearing }[];
  /** Where an unchecked application wants the person to go. */
  readonly leaving?: BrowserDelivery;
  /** An address to sign in again. */
  readonly signIn?: string;
}

/** Whether an application has accepted that the person is signed out, is still being told, or keeps its own session. */
export type Hearing = 'told' | 'telling' | 'notTold';

/** Lists `told`, `telling` and `not-told`, as far as there are such applications. */
export function signedOutPage(view: SignedOutView, setting: PageSetting): Page {
  const { applications = [], leaving, signIn } = view;
  const those = (wanted: Hearing) =>
    applications.flatMap(({ application, hearing }) => (hearing === wanted ? [application] : []));
  const texts = textsIn(setting.language);
  const { logout } = texts;
  return {
    ...setting,
    title: logout.doneTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${logout.doneTitle}</h1>
<p class="lead">${logout.done}</p>
</header>
${applicationList('told', [logout.told], those('told'), texts)}
${applicationList('telling', [logout.telling, logout.tellingNote], those('telling'), texts)}
${applicationList('not-told', [logout.notTold, logout.notToldNote], those('notTold'), texts)}
${leaving === undefined ? '' : wayOut(leaving, setting, texts)}
${signIn === undefined ? '' : html`<a id="sign-in-again" class="button" href="${signIn}">${logout.signInAgain}</a>`}`,
  };
}

function applicationList(
  id: string,
  [heading, note]: readonly [heading: string, note?: string],
  applications: readonly ApplicationShown[],
  texts: Texts,
): Html | '' {
  if (applications.length === 0) return '';
  return html`<section id="${id}"><h2>${heading}</h2>
<ul class="bullets">${applications.map((one) => html`<li>${applicationName(one, texts)}</li>`)}</ul>
${note === undefined ? '' : html`<p class="note">${note}</p>`}</section>`;
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
${operatorMark(setting.operator)}
<h1>${logout.stillTitle}</h1>
<p class="lead">${logout.still} ${person === undefined ? '' : logout.question(named(person.name))}</p>
</header>
<a id="to-account" class="button" href="${account}">${logout.toAccount}</a>`,
  };
}
