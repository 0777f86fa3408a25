import { html } from 'hono/html';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import {
  applicationLinks,
  codeList,
  describedList,
  named,
  personLine,
  scopeList,
  sortScopes,
  uncheckedNote,
} from '../drawing/application_shown.ts';
import { applicationMark } from '../drawing/brand.ts';
import { detailsList } from '../drawing/details_shown.ts';
import type {
  AccessShown,
  ApplicationShown,
  FormShown,
  Page,
  PageSetting,
  PersonShown,
} from '../drawing/layout.ts';

export interface ConsentView extends FormShown {
  readonly application: ApplicationShown;
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly changePerson: string;
  readonly access: AccessShown;
  /** Host of the redirect URI, if it means something to users. */
  readonly returnsTo?: string;
  /** Whether every redirect URI leads to a program on the user's device. */
  readonly isOnThisDevice?: boolean;
  /** The request of a device: when, and where from. */
  readonly device?: { readonly requestedAtMs: number; readonly place?: string; readonly nowMs: number };
  /** URL of the page on which users end access. */
  readonly account?: string;
}

/** Characters from which a name gets a smaller heading. */
const LONG_NAME = 40;

/** A warning about a client with a document whose answers stay on a device: the host of its document proves nothing there. */
function deviceNote({ application, isOnThisDevice }: ConsentView, { unchecked }: Texts): Html | '' {
  if (application.document === undefined || isOnThisDevice !== true) return '';
  return html`<p id="on-this-device" class="caution">${icon('alert')}<span>${unchecked.onThisDevice}</span></p>`;
}

/** What tells a request of the user's own device from one that an attacker has sent the code of. */
function originNote({ device }: ConsentView, { devices, formats }: Texts): Html | '' {
  if (device === undefined) return '';
  const { requestedAtMs, place, nowMs } = device;
  const when = formats.past(requestedAtMs, nowMs);
  const origin = place === undefined ? devices.requested(when) : devices.requestedFrom(when, named(place));
  return html`<p id="device-warning" class="caution">${icon('alert')}<span><span id="device-origin">${origin}</span> ${devices.warning}</span></p>`;
}

/** `/consent`: buttons `consent-allow` and `consent-deny`, which send the field `decision`. */
export function consentPage(view: ConsentView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { consent } = texts;
  return {
    ...setting,
    title: consent.title(application.name),
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1${application.name.length > LONG_NAME ? html` class="long"` : ''}>${consent.title(named(application.name))}</h1>
</header>
${personLine(consent.signedInAs, person, html`<a id="change-person" href="${view.changePerson}">${consent.notYou}</a>`)}
${uncheckedNote(application, setting, texts)}
${deviceNote(view, texts)}
${originNote(view, texts)}
${accessOf(view.access, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="consent-allow" type="submit" name="decision" value="allow" class="primary">${consent.allow}</button>
<button id="consent-deny" type="submit" name="decision" value="deny">${consent.deny}</button>
</div>
</form>
<p class="note">${view.returnsTo === undefined ? '' : (application.isUnchecked === true ? consent.leadsTo : consent.returnsTo)(named(view.returnsTo))} ${view.account === undefined ? consent.endIt : consent.endItIn(html`<a href="${view.account}">${consent.yourAccount}</a>`)}</p>
${applicationLinks(application, texts)}`,
  };
}

function accessOf(
  { groups = [], scopes, resources = [], claims = [], details = [] }: AccessShown,
  texts: Texts,
): Html {
  const { consent } = texts;
  const hasOwn = groups.some(({ api }) => api === undefined);
  const first = details.length > 0 ? consent.also : consent.allowed;
  const { known, own } = sortScopes(scopes, texts);
  return html`<div id="scopes" class="access">
${under(consent.allowed, detailsList(details, 'full'))}
${groups.map(({ api, scopes: described }) => under(api === undefined ? first : consent.at(named(api.name)), describedList(described, 'full')))}
${under(hasOwn ? consent.also : first, scopeList(known, 'full', texts))}
${under(consent.ownScopes, codeList(own))}
${under(consent.claims, codeList(claims))}
${under(consent.services, resourceList(resources))}
</div>`;
}

function under(heading: Html | string, list: Html | ''): Html | '' {
  return list === '' ? '' : html`<section><h2>${heading}</h2>${list}</section>`;
}

function resourceList(resources: readonly string[]): Html | '' {
  if (resources.length === 0) return '';
  return html`<ul id="resources" class="bullets">
${resources.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul>`;
}
