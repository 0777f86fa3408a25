import { html } from 'hono/html';
import { colorOfHue, isColor } from './color.ts';
import type { Html } from './html.ts';
import { DEFAULT_COLOR, textOn } from './palette.ts';
import type { Picture } from './picture.ts';

/** Under what name, picture and colour an application, or this server itself, meets people. */
export interface Brand {
  /** Set for an application that registered itself: nobody but itself says who it is, so it has no logo and no colour. */
  readonly isUnchecked?: boolean;
  readonly name: string;
  /** A `data:` URL or a path on this server; absent: a monogram. It stands beside the name and needs no words. */
  readonly logo?: string;
  /** `#rrggbb`; anything else counts as absent. */
  readonly color?: string;
}

/** The operator's logo, or a monogram in the operator's colour. */
export function operatorMark(operator: Brand): Html {
  return markOf(operator, DEFAULT_COLOR);
}

/** An application's logo, or a monogram; of an unchecked application the operator's, since anyone could imitate one. */
export function applicationMark(application: Brand, operator: Brand): Html {
  return application.isUnchecked === true
    ? operatorMark(operator)
    : markOf(application, colorOf(application.name));
}

/** @param fallback colour of a monogram if the brand has none */
function markOf({ name, logo, color }: Brand, fallback: string): Html {
  if (hasOwnLogo(logo)) return html`<img class="mark logo" src="${logo}" alt="">`;
  return html`<img class="mark" src="${dataUrl(monogramSvg({ name, color: color ?? fallback }))}" alt="">`;
}

/** For the tab of the browser, which would otherwise ask for a file. */
export function tabIcon(brand: Brand): string {
  if (hasOwnLogo(brand.logo)) return brand.logo;
  return dataUrl(monogramSvg(brand));
}

/** An application's monogram, if a picture has to be sent. */
export function monogramPicture({ name, color = colorOf(name) }: Brand): Picture {
  return { type: 'image/svg+xml', bytes: new TextEncoder().encode(monogramSvg({ name, color })) };
}

/** A picture of its own has colours of its own, without a place in the policy of the page. */
function monogramSvg({ name, color }: Brand): string {
  const tile = color !== undefined && isColor(color) ? color : DEFAULT_COLOR;
  const font = 'font-family="system-ui, sans-serif" font-size="19" font-weight="600"';
  const letter = `<text x="24" y="31" text-anchor="middle" ${font} fill="${textOn(tile)}">${monogram(name)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" fill="${tile}"/>${letter}</svg>`;
}

function dataUrl(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** Pictures come from this server; an address elsewhere would tell a stranger who signs in when. */
export function hasOwnLogo(logo: string | undefined): logo is string {
  return logo !== undefined && (logo.startsWith('data:image/') || /^\/(?![/\\])/.test(logo));
}

/** The initials of the first two words of a name, or the first two letters of its only word, as people count letters. */
function monogram(name: string): string {
  const words = name.split(/[^\p{L}\p{M}\p{N}]+/u).flatMap((word) => {
    const letters = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(word)];
    return letters.length === 0 ? [] : [letters.map(({ segment }) => segment)];
  });
  const [first = [], second] = words;
  const letters = second === undefined ? first.slice(0, 2) : [first[0], second[0]];
  return letters.length === 0 ? '•' : letters.join('').toUpperCase();
}

/** A colour by the whole name, so that names with the same initials look different. */
function colorOf(name: string): string {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return colorOfHue(hash % 360);
}
