import { type BrowserDelivery, hostShown } from '@grantd/core';
import { html } from 'hono/html';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { named } from './application_shown.ts';
import { operatorMark } from './brand.ts';
import type { Page, PageSetting } from './layout.ts';

interface LeavingView {
  readonly leaving: BrowserDelivery;
  /** URL of a page on this server to continue with. */
  readonly home: string;
}

/** Replaces a redirect to an unchecked application: link or button `leave`, link `to-home`. */
export function leavingPage({ leaving, home }: LeavingView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.leaving.title,
    formMayLeave: leaving.formPost !== undefined,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${texts.leaving.title}</h1>
</header>
${wayOut(leaving, setting, texts)}
<a id="to-home" class="button" href="${home}">${texts.leaving.stay}</a>`,
  };
}

/** Names the host, warns that it is unchecked, and links to it. */
export function wayOut(
  { redirectTo, formPost }: BrowserDelivery,
  { operator }: PageSetting,
  texts: Texts,
): Html {
  const host = named(hostShown(redirectTo));
  const { leaving, unchecked } = texts;
  return html`<div class="leaving">
<p>${leaving.leadsTo(host)}</p>
<p id="registered-itself" class="caution">${icon('alert')}<span><strong>${unchecked.title}</strong> ${leaving.note(named(operator.name))}</span></p>
${
  formPost === undefined
    ? html`<a id="leave" class="button" href="${redirectTo}" rel="noreferrer">${leaving.go(host)}</a>`
    : html`<form method="post" action="${redirectTo}">
${Object.entries(formPost).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button id="leave" type="submit">${leaving.go(host)}</button>
</form>`
}
</div>`;
}
