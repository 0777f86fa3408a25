// The marks of providers on buttons, drawn here, so that the browser of a user asks no provider for a picture.
import { html, raw } from 'hono/html';
import type { ProviderKind } from '../../config/providers.ts';
import type { Html } from '../../texts/formats/html.ts';

/** On a 20 × 20 grid. A mark of one colour has the colour of the text. */
const MARKS: Readonly<Partial<Record<ProviderKind, string>>> = {
  google:
    '<g fill="none" stroke-width="3.2"><path stroke="#ea4335" d="M15 4.9A7 7 0 0 0 3.9 6.6"/><path stroke="#fbbc05" d="M3.9 6.6a7 7 0 0 0 0 6.8"/><path stroke="#34a853" d="M3.9 13.4A7 7 0 0 0 14.6 15.3"/><path stroke="#4285f4" d="M14.6 15.3A7 7 0 0 0 17 10h-7"/></g>',
  microsoft:
    '<path fill="#f25022" d="M2 2h7.5v7.5H2z"/><path fill="#7fba00" d="M10.5 2H18v7.5h-7.5z"/><path fill="#00a4ef" d="M2 10.5h7.5V18H2z"/><path fill="#ffb900" d="M10.5 10.5H18V18h-7.5z"/>',
  apple:
    '<path fill="currentColor" d="M10 6.2c.9 0 1.8-.9 3.2-.9 1 0 2 .5 2.7 1.4-2.3 1.4-2 4.7.5 5.7-.5 1.5-1.8 4.1-3.3 4.1-1.1 0-1.5-.7-2.8-.7s-1.8.7-2.8.7c-1.9 0-4.2-4-4.2-7.2 0-2.8 1.8-4.3 3.6-4.3 1.3 0 2.3.9 3.1.9zM12.8 1.5c.1 1.6-1.2 3.2-2.8 3.3-.1-1.6 1.2-3.2 2.8-3.3z"/>',
  github:
    '<circle cx="10" cy="10" r="8.5" fill="currentColor"/><path fill="var(--surface)" d="M5.5 9.1c0-1 .3-1.7.9-2.3l-.2-2.5 2.3 1.2h3l2.3-1.2-.2 2.5c.6.6.9 1.3.9 2.3 0 2.6-1.6 3.6-3.1 3.8.5.4.7 1 .7 1.7v3.6H7.9v-2c-1.7.4-2.3-.5-2.6-1.3l-.8-.9c1-.3 1.6.4 2 1 .3.5.8.5 1.4.4.1-1 .4-1.9.7-2.5C6.9 12.7 5.5 11.7 5.5 9.1z"/>',
};

/**
 * Repeats what the text of the button says. Providers of the operator get their initial.
 * @param logo URL of the operator’s own picture of the provider
 */
export function providerMark(kind: ProviderKind, name: string, logo?: string): Html {
  if (logo !== undefined) return html`<img class="provider-mark picture" src="${logo}" alt="">`;
  const mark = MARKS[kind];
  return mark === undefined
    ? html`<span class="provider-mark initial" aria-hidden="true">${[...name][0]}</span>`
    : html`<svg class="provider-mark" viewBox="0 0 20 20" aria-hidden="true">${raw(mark)}</svg>`;
}
