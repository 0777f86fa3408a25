import { html } from 'hono/html';
import type { Html } from '../html.ts';
import type { PersonShown } from '../page.ts';

/** A name from outside: apart from the text around it, whatever direction its letters run in. */
export function named(name: string): Html {
  return html`<bdi class="name">${name}</bdi>`;
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
