import { html } from 'hono/html';
import { isColor } from './color.ts';
import type { Html } from './html.ts';
import { DEFAULT_COLOR, textOn } from './palette.ts';

/** Under what name, picture and colour an application, or this server itself, meets people. */
export interface Brand {
  readonly name: string;
  /** A `data:` URL or a path on this server; absent: a monogram. It stands beside the name and needs no words. */
  readonly logo?: string;
  /** `#rrggbb`; anything else counts as absent. */
  readonly color?: string;
}

/** The logo, or the first letter of the name. */
export function brandMark({ name, logo, color }: Brand): Html {
  if (hasOwnLogo(logo)) return html`<img class="mark logo" src="${logo}" alt="">`;
  // Presentation attributes: a style of its own would need a place in the policy.
  const colors =
    color !== undefined && isColor(color)
      ? { tile: html` fill="${color}"`, letter: html` fill="${textOn(color)}"` }
      : { tile: html` class="tile"`, letter: html` class="letter"` };
  return html`<svg class="mark" viewBox="0 0 48 48" aria-hidden="true"><rect x=".5" y=".5" width="47" height="47" rx="11"${colors.tile}/><text x="24" y="25" text-anchor="middle" dominant-baseline="central"${colors.letter}>${monogram(name)}</text></svg>`;
}

/** For the tab of the browser, which would otherwise ask for a file. */
export function tabIcon({ name, logo, color }: Brand): string {
  if (hasOwnLogo(logo)) return logo;
  const tile = color !== undefined && isColor(color) ? color : DEFAULT_COLOR;
  const letter = `<text x="24" y="34" font-family="sans-serif" font-size="28" font-weight="700" text-anchor="middle" fill="${textOn(tile)}">${monogram(name)}</text>`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="${tile}"/>${letter}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(picture)}`;
}

/** Pictures come from this server; an address elsewhere would tell a stranger who signs in when. */
export function hasOwnLogo(logo: string | undefined): logo is string {
  return logo !== undefined && (logo.startsWith('data:image/') || /^\/(?![/\\])/.test(logo));
}

/** The first letter or digit of a name, as people count letters. */
function monogram(name: string): string {
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name)) {
    if (/[\p{L}\p{N}]/u.test(segment)) return segment.toUpperCase();
  }
  return '•';
}
