import { html } from 'hono/html';
import { applicationMark } from '../brand.ts';
import type { Html } from '../html.ts';
import type { AccessShown, ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { codeList, describedList, scopeList, sortScopes } from './access_list.ts';
import { applicationLinks } from './application_links.ts';
import { named, personLine, uncheckedNote } from './name.ts';

export interface ConsentView extends FormShown {
  readonly application: ApplicationShown;
  readonly person: PersonShown;
  /** An address where another person may sign in instead. */
  readonly changePerson: string;
  readonly access: AccessShown;
  /** Host of the redirect URI, where it has one that tells people something. */
  readonly returnsTo?: string;
  /** Address of the page where access is ended. */
  readonly account?: string;
}

/** In characters; from there on, a name is no headline. */
const LONG_NAME = 40;

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
<h1${application.name.length > LONG_NAME ? html` class="long"` : ''}>${consent.heading(named(application.name))}</h1>
</header>
${personLine(consent.signedInAs, person, html`<a id="change-person" href="${view.changePerson}">${consent.notYou}</a>`)}
${uncheckedNote(application, setting, texts)}
${accessOf(view.access, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="consent-allow" type="submit" name="decision" value="allow" class="primary">${consent.allow}</button>
<button id="consent-deny" type="submit" name="decision" value="deny">${consent.deny}</button>
</div>
</form>
<p class="note">${view.returnsTo === undefined ? '' : (application.isUnchecked === true ? consent.leadsTo : consent.returnsTo)(named(view.returnsTo))} ${consent.endIt(view.account)}</p>
${applicationLinks(application, texts)}`,
  };
}

function accessOf({ groups = [], scopes, resources = [], claims = [] }: AccessShown, texts: Texts): Html {
  const { consent } = texts;
  const { known, own } = sortScopes(scopes, texts);
  return html`<div id="scopes" class="access">
${groups.map(({ api, scopes: described }) => under(api === undefined ? consent.asksTo : consent.at(named(api.name)), describedList(described, 'full')))}
${under(groups.some(({ api }) => api === undefined) ? consent.also : consent.asksTo, scopeList(known, 'full', texts))}
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
