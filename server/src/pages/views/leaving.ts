import { type BrowserDelivery, hostShown } from '@grantd/core';
import { html } from 'hono/html';
import { operatorMark } from '../brand.ts';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { Page, PageSetting } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { named } from './name.ts';

export interface LeavingView {
  readonly leaving: BrowserDelivery;
  /** Address of the page to go on with here. */
  readonly home: string;
}

/** Instead of a redirect to an application that nobody has checked: link or button `leave`, link `to-home`. */
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

/** Names the host, says that nobody has checked it, and leads there. */
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
