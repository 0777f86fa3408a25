import { html } from 'hono/html';
import { isColor } from './color.ts';
import type { Html } from './html.ts';
import { DEFAULT_COLOR, textOn } from './palette.ts';
import type { Picture } from './picture.ts';

/** Under what name, picture and colour an application, or this server itself, meets people. */
export interface Brand {
  readonly name: string;
  /** A `data:` URL or a path on this server; absent: a monogram. It stands beside the name and needs no words. */
  readonly logo?: string;
  /** `#rrggbb`; anything else counts as absent. */
  readonly color?: string;
}

/**
 * The logo, or the first letter of the name.
 * @param pageColor for a letter where the brand has none of its own
 */
export function brandMark({ name, logo, color }: Brand, pageColor?: string): Html {
  if (hasOwnLogo(logo)) return html`<img class="mark logo" src="${logo}" alt="">`;
  const letter = monogramSvg({ name, color: color ?? pageColor });
  return html`<img class="mark" src="${dataUrl(letter)}" alt="">`;
}

/** For the tab of the browser, which would otherwise ask for a file. */
export function tabIcon(brand: Brand): string {
  if (hasOwnLogo(brand.logo)) return brand.logo;
  return dataUrl(monogramSvg(brand));
}

/** The first letter of the name, where a picture has to be sent. */
export function monogramPicture(brand: Brand): Picture {
  return { type: 'image/svg+xml', bytes: new TextEncoder().encode(monogramSvg(brand)) };
}

/** A picture of its own has colours of its own, without a place in the policy of the page. */
function monogramSvg({
  name,
  color,
}: {
  readonly name: string;
  readonly color?: string | undefined;
}): string {
  const tile = color !== undefined && isColor(color) ? color : DEFAULT_COLOR;
  const font = 'font-family="system-ui, sans-serif" font-size="22" font-weight="600"';
  const letter = `<text x="24" y="32" text-anchor="middle" ${font} fill="${textOn(tile)}">${monogram(name)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" fill="${tile}"/>${letter}</svg>`;
}

function dataUrl(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
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
