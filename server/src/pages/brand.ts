import { html } from 'hono/html';
import type { Html } from './html.ts';

/** Under what name, picture and colour an application, or this server itself, meets people. */
export interface Brand {
  readonly name: string;
  /** A `data:` URL or a path on this server; absent: a monogram. It stands beside the name and needs no words. */
  readonly logo?: string;
  /** `#rrggbb`; anything else counts as absent. */
  readonly color?: string;
}

/** The logo, or the first letter of the name. */
export function brandMark({ name, logo }: Brand, size: 'large' | 'small' = 'large'): Html {
  if (logo !== undefined && isOwn(logo)) {
    return html`<img class="mark mark-${size}" src="${logo}" alt="">`;
  }
  return html`<span class="mark mark-${size} monogram" aria-hidden="true">${monogram(name)}</span>`;
}

/** The first letter or digit of a name, as people count letters. */
export function monogram(name: string): string {
  const letters = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name);
  for (const { segment } of letters) {
    if (/[\p{L}\p{N}]/u.test(segment)) return segment.toUpperCase();
  }
  return '•';
}

/** Pictures come from this server; an address elsewhere would tell a stranger who signs in when. */
function isOwn(logo: string): boolean {
  return logo.startsWith('data:image/') || /^\/(?![/\\])/.test(logo);
}
