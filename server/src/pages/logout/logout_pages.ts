import type { BrowserDelivery } from '@grantd/core';
import { html } from 'hono/html';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { applicationName, named, uncheckedNote } from '../drawing/application_shown.ts';
import { applicationMark, operatorMark } from '../drawing/brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../drawing/layout.ts';
import { wayOut } from '../drawing/leaving_page.ts';

interface LogoutView extends FormShown {
  /** The signed-in user, if known. */
  readonly person?: PersonShown;
  /** The application that sent the user here, if it is certain. */
  readonly application?: ApplicationShown;
  /** Whether the request names an unregistered return URL. */
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

interface SignedOutView {
  /** Applications of the session, with the state of their notification. */
  readonly applications?: readonly {
    readonly application: ApplicationShown;
    readonly state: NotificationState;
  }[];
  /** Where an unchecked application wants to send the user. */
  readonly leaving?: BrowserDelivery;
  /** URL to sign in again. */
  readonly signIn?: string;
}

/** Whether an application has accepted the logout, is still being notified, or keeps its own session. */
export type NotificationState = 'notified' | 'pending' | 'notNotified';

/** Lists `notified`, `pending` and `not-notified`, if not empty. */
export function signedOutPage(view: SignedOutView, setting: PageSetting): Page {
  const { applications = [], leaving, signIn } = view;
  const applicationsIn = (wanted: NotificationState) =>
    applications.flatMap(({ application, state }) => (state === wanted ? [application] : []));
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
${applicationList('notified', [logout.notified], applicationsIn('notified'), texts)}
${applicationList('pending', [logout.pending, logout.pendingNote], applicationsIn('pending'), texts)}
${applicationList('not-notified', [logout.notNotified, logout.notNotifiedNote], applicationsIn('notNotified'), texts)}
${leaving === undefined ? '' : wayOut(leaving, setting, texts)}
${signIn === undefined ? '' : html`<a id="sign-in-again" class="button primary" href="${signIn}">${logout.signInAgain}</a>`}`,
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
<ul class="bullets">${applications.map((application) => html`<li>${applicationName(application, texts)}</li>`)}</ul>
${note === undefined ? '' : html`<p class="note">${note}</p>`}</section>`;
}

interface StillSignedInView {
  readonly person?: PersonShown;
  /** URL of the account page. */
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
<a id="to-account" class="button primary" href="${account}">${logout.toAccount}</a>`,
  };
}
