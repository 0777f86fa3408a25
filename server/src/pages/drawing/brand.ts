import { html } from 'hono/html';
import type { Picture } from '../../config/picture.ts';
import type { Html } from '../../texts/formats/html.ts';

/** The name, logo and colour of an application or of this server. */
export interface Brand {
  /** Set for a self-registered application. It gets no logo and no colour, because no one has checked who it is. */
  readonly isUnchecked?: boolean;
  readonly name: string;
  /** A `data:` URL or a path on this server; a monogram if absent. Decorative, because the name is next to it. */
  readonly logo?: string;
  /** `#rrggbb`. Other values count as absent. */
  readonly color?: string;
}

/** The operator’s brand and theme. */
export interface OperatorShown extends Brand {
  readonly look?: Look;
}

/** What a theme changes on every page. */
export interface Look {
  readonly schemes?: Schemes | undefined;
  /** Pixels. */
  readonly radius?: number | undefined;
  readonly fontStack?: string | undefined;
  /** On this server. */
  readonly fontUrl?: string | undefined;
  readonly links?: { readonly help?: string; readonly privacy?: string };
}

/** The least number of results that `remembering` keeps. The largest input is a style sheet of 12 kB. */
const LEAST_REMEMBERED = 100;

/**
 * The same function, which remembers its last results, because each page needs the same pictures, colours and digests.
 * @param make pure. Its result must not be changed
 */
export function remembering<T>(make: (input: string) => T): (input: string) => T {
  let recent = new Map<string, T>();
  let earlier = recent;
  return (input) => {
    const known = recent.get(input);
    if (known !== undefined) return known;
    const made = earlier.get(input) ?? make(input);
    if (recent.size >= LEAST_REMEMBERED) {
      earlier = recent;
      recent = new Map();
    }
    recent.set(input, made);
    return made;
  };
}

/** The operator's logo, or a monogram in the operator's colour. */
export function operatorMark(operator: Brand): Html {
  return markOf(operator, DEFAULT_COLOR);
}

/**
 * An application’s logo or monogram. For an unchecked application, the operator’s mark, because it could imitate any
 * logo.
 */
export function applicationMark(application: Brand, operator: Brand): Html {
  return application.isUnchecked === true
    ? operatorMark(operator)
    : markOf(application, colorOf(application.name));
}

/** @param fallback monogram colour for brands without a colour */
function markOf({ name, logo, color }: Brand, fallback: string): Html {
  if (isOwnLogo(logo)) return html`<img class="mark logo" src="${logo}" alt="">`;
  return html`<img class="mark" src="${monogramUrl({ name, color: color ?? fallback })}" alt="">`;
}

/** The icon of the browser tab. Without it, the browser would request a file. */
export function tabIcon(brand: Brand): string {
  if (isOwnLogo(brand.logo)) return brand.logo;
  return monogramUrl(brand);
}

/** An application’s monogram as an image response. */
export function monogramPicture({ name, color = colorOf(name) }: Brand): Picture {
  return { type: 'image/svg+xml', bytes: new TextEncoder().encode(monogramSvg({ name, color })) };
}

function monogramUrl({ name, color = '' }: Brand): string {
  return urlOfMonogram(JSON.stringify([name, color]));
}

const urlOfMonogram = remembering((brand) => {
  const [name, color]: [string, string] = JSON.parse(brand);
  return dataUrl(monogramSvg({ name, color }));
});

/** An SVG image, whose inline colours need no exception in the page’s policy. */
function monogramSvg({ name, color }: Brand): string {
  const tile = color !== undefined && isColor(color) ? color : DEFAULT_COLOR;
  const font = 'font-family="system-ui, sans-serif" font-size="19" font-weight="600"';
  const letter = `<text x="24" y="31" text-anchor="middle" ${font} fill="${textOn(tile)}">${monogram(name)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" fill="${tile}"/>${letter}</svg>`;
}

function dataUrl(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** Logos must come from this server. A foreign host would learn who signs in when. */
export function isOwnLogo(logo: string | undefined): logo is string {
  return logo !== undefined && (logo.startsWith('data:image/') || /^\/(?![/\\])/.test(logo));
}

/** The initials of the first two words, or the first two letters of a single word. Letters are graphemes. */
function monogram(name: string): string {
  const words = name.split(/[^\p{L}\p{M}\p{N}]+/u).flatMap((word) => {
    const letters = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(word)];
    return letters.length === 0 ? [] : [letters.map(({ segment }) => segment)];
  });
  const [first = [], second] = words;
  const letters = second === undefined ? first.slice(0, 2) : [first[0], second[0]];
  return letters.length === 0 ? '•' : letters.join('').toUpperCase();
}

/** A colour from a hash of the whole name, so that names with the same initials look different. */
function colorOf(name: string): string {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return colorOfHue(hash % 360);
}

/** Colours of a scheme that are independent of the brand. */
const LIGHT = {
  ground: '#f5f4f1',
  surface: '#ffffff',
  text: '#1c1d20',
  muted: '#5d6068',
  line: '#e3e2dd',
  edge: '#84878f',
  danger: '#a8231b',
  'danger-ground': '#fcefed',
  success: '#1c6b3c',
  'success-ground': '#ebf6ef',
};

const DARK: typeof LIGHT = {
  ground: '#111214',
  surface: '#1b1c1f',
  text: '#ececee',
  muted: '#a6a9b1',
  line: '#34363b',
  edge: '#7c7f88',
  danger: '#ffb3aa',
  'danger-ground': '#3b1e1c',
  success: '#8fd6a8',
  'success-ground': '#17301f',
};

export const SCHEMES = { light: LIGHT, dark: DARK };

/** Colour of operators without a colour of their own. */
const DEFAULT_COLOR = '#1d5f63';

const WHITE = '#ffffff';
const BLACK = '#000000';

/** WCAG 2.2 §1.4.3 and §1.4.11. */
export const TEXT_CONTRAST = 4.5;
export const EDGE_CONTRAST = 3;

/** Of links in the dark scheme, between which and the text a darker colour would look switched off. */
const LINK_CONTRAST = 7;

/** Colours of both schemes, with the operator’s. */
export type Schemes = Readonly<Record<'light' | 'dark', typeof LIGHT & OwnColors>>;

interface OwnColors {
  readonly brand?: string;
  readonly accent?: string;
}

/**
 * The style sheet’s custom properties for both schemes. All text stays readable with any brand colour.
 * @param color the brand colour; `undefined` for that of the schemes, or else the default
 */
export function paletteOf(color: string | undefined, schemes: Schemes = SCHEMES): string {
  const [light, dark] = [colorsOf(color, schemes.light, BLACK), colorsOf(color, schemes.dark, WHITE)];
  return `:root{color-scheme:light dark;${properties(light)}}
@media(prefers-color-scheme:dark){:root{${properties(dark)}}}
`;
}

function colorsOf(color: string | undefined, scheme: typeof LIGHT & OwnColors, away: string) {
  const { brand: own, accent, ...others } = scheme;
  const isBrand = color !== undefined && isColor(color);
  const derived = brandColors((isBrand ? color : (own ?? DEFAULT_COLOR)).toLowerCase(), scheme, away);
  // The accent belongs to the operator’s colour, not to that of an application.
  return { ...others, ...derived, ...(accent !== undefined && !isBrand && { accent }) };
}

/**
 * Derives a scheme’s colours from the brand colour.
 * @param away the colour to mix in if the brand colour is too close to the scheme’s background
 */
export function brandColors(brand: string, { surface, ground }: typeof LIGHT, away: string) {
  return derivedColors([brand, surface, ground, away].join(' '));
}

const derivedColors = remembering((colors) => {
  const [brand = '', surface = '', ground = '', away = ''] = colors.split(' ');
  const onBrand = textOn(brand);
  return {
    brand,
    'on-brand': onBrand,
    'brand-hover': hoverOf(brand, onBrand),
    'brand-edge': distinct(brand, [surface], EDGE_CONTRAST, away),
    accent: distinct(brand, [surface, ground], away === WHITE ? LINK_CONTRAST : TEXT_CONTRAST, away),
  };
});

/** White if it is readable on the background, else black. One of them always is. */
export function textOn(background: string): string {
  return contrast(background, WHITE) >= TEXT_CONTRAST ? WHITE : BLACK;
}

function hoverOf(brand: string, onBrand: string): string {
  const softer = mix(brand, onBrand, 0.12);
  if (contrast(softer, onBrand) >= TEXT_CONTRAST) return softer;
  return mix(brand, onBrand === WHITE ? BLACK : WHITE, 0.12);
}

/** The colour, or the nearest one with sufficient contrast: towards white, first of the same hue. */
function distinct(color: string, from: readonly string[], least: number, away: string): string {
  const vivid = away === WHITE ? vividest(color) : color;
  for (const [start, end] of [
    [color, vivid],
    [vivid, away],
  ] as const)
    for (let percent = 0; percent < 100; percent += 2) {
      const mixed = mix(start, end, percent / 100);
      if (from.every((background) => contrast(mixed, background) >= least)) return mixed;
    }
  return away;
}

/** The brightest colour of the same hue and saturation; of black, white. */
function vividest(color: string): string {
  const most = Math.max(...channels(color));
  return most === 0 ? WHITE : hexOf(channels(color).map((value) => (value * 255) / most));
}

function hexOf(values: readonly number[]): string {
  return `#${values.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
}

function properties(colors: Readonly<Record<string, string>>): string {
  return Object.entries(colors)
    .map(([name, color]) => `--${name}:${color}`)
    .join(';');
}

/** @returns `false` for anything but `#rrggbb`, because nothing else may reach the style sheet */
export function isColor(color: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(color);
}

/** From 1 to 21 (WCAG 2.2, contrast ratio). */
export function contrast(a: string, b: string): number {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (lighter + 0.05) / (darker + 0.05);
}

/** @param share share of the other colour, from 0 to 1 */
export function mix(color: string, other: string, share: number): string {
  const others = channels(other);
  return hexOf(channels(color).map((value, at) => value + ((others[at] ?? 0) - value) * share));
}

/**
 * @param hue degrees
 * @returns a dark colour of medium saturation
 */
export function colorOfHue(hue: number): string {
  const channel = (offset: number) => {
    const position = (offset + hue / 30) % 12;
    const value = LIGHTNESS - SATURATION * Math.max(-1, Math.min(position - 3, 9 - position, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

const LIGHTNESS = 0.36;
/** HSL’s `a`: saturation × min(lightness, 1 − lightness). */
const SATURATION = 0.2;

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
