import { contrast, isColor, mix } from './color.ts';

/** What belongs to a scheme and to no brand. */
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

/** Of the server that has no other. */
export const DEFAULT_COLOR = '#1d5f63';

const WHITE = '#ffffff';
const BLACK = '#000000';

/** WCAG 2.2 §1.4.3 and §1.4.11. */
const TEXT_CONTRAST = 4.5;
const EDGE_CONTRAST = 3;

/** Custom properties of a style sheet, for both schemes: whatever the brand's colour is, everything can be read. */
export function paletteOf(color: string | undefined): string {
  const brand = color !== undefined && isColor(color) ? color.toLowerCase() : DEFAULT_COLOR;
  const [light, dark] = [brandColors(brand, LIGHT, BLACK), brandColors(brand, DARK, WHITE)];
  return `:root{color-scheme:light dark;${properties({ ...LIGHT, ...light })}}
@media(prefers-color-scheme:dark){:root{${properties({ ...DARK, ...dark })}}}
`;
}

/**
 * What is made of a brand's colour in one scheme.
 * @param away what it is mixed with where it is too close to the scheme's own
 */
export function brandColors(brand: string, { surface, ground }: typeof LIGHT, away: string) {
  const onBrand = textOn(brand);
  return {
    brand,
    'on-brand': onBrand,
    'brand-hover': hoverOf(brand, onBrand),
    'brand-edge': distinct(brand, [surface], EDGE_CONTRAST, away),
    accent: distinct(brand, [surface, ground], TEXT_CONTRAST, away),
  };
}

/** White where it can be read, black where it cannot: one of the two always can. */
export function textOn(background: string): string {
  return contrast(background, WHITE) >= TEXT_CONTRAST ? WHITE : BLACK;
}

function hoverOf(brand: string, onBrand: string): string {
  const softer = mix(brand, onBrand, 0.12);
  if (contrast(softer, onBrand) >= TEXT_CONTRAST) return softer;
  return mix(brand, onBrand === WHITE ? BLACK : WHITE, 0.12);
}

/** The colour itself, or what is nearest to it and stands out enough. */
function distinct(color: string, from: readonly string[], least: number, away: string): string {
  for (let percent = 0; percent < 100; percent += 2) {
    const mixed = mix(color, away, percent / 100);
    if (from.every((background) => contrast(mixed, background) >= least)) return mixed;
  }
  return away;
}

function properties(colors: Readonly<Record<string, string>>): string {
  return Object.entries(colors)
    .map(([name, color]) => `--${name}:${color}`)
    .join(';');
}
