import { html } from 'hono/html';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { ApplicationShown, PageSetting, PersonShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';

/** A name from outside: apart from the text around it, whatever direction its letters run in. */
export function named(name: string): Html {
  return html`<bdi class="name">${name}</bdi>`;
}

/** The name of an application, marked if nobody has checked whose it is. */
export function applicationName({ name, isUnchecked }: ApplicationShown, texts: Texts): Html {
  return isUnchecked === true
    ? html`${named(name)} <span class="badge unchecked">${texts.unchecked.badge}</span>`
    : named(name);
}

/** A warning that nobody has checked whose the application is; empty if somebody has. */
export function uncheckedNote(
  application: ApplicationShown | undefined,
  { operator }: PageSetting,
  texts: Texts,
): Html | '' {
  if (application?.isUnchecked !== true) return '';
  const { title, note } = texts.unchecked;
  return html`<p id="registered-itself" class="caution">${icon('alert')}<span><strong>${title}</strong> ${note(named(application.name), named(operator.name))}</span></p>`;
}

/** Who is signed in, with a way out for anybody else. */
export function personLine(label: string, { name, detail }: PersonShown, change?: Html): Html {
  return html`<div class="person">
<p><span class="label">${label}</span> <span>${named(name)}</span>${detail === undefined ? '' : html` <bdi class="detail">${detail}</bdi>`}</p>
${change ?? ''}
</div>`;
}

/** An id made of an identifier that may have any character. */
export function idOf(prefix: string, identifier: string): string {
  return `${prefix}-${encodeURIComponent(identifier)}`;
}

/** An address that a link may have; `undefined` for one that would run or open something else. */
export function webAddress(uri: string | undefined): string | undefined {
  return uri !== undefined && /^https?:\/\//i.test(uri) && URL.canParse(uri) ? uri : undefined;
}
