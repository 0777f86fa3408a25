/** Colours of one page: made of the brand's, so that everything on it can be read (WCAG 2.2 §1.4.3, §1.4.11). */
interface Scheme {
  readonly surface: string;
  readonly ground: string;
  /** What a colour is mixed with that is too close to the surface. */
  readonly away: string;
}

const LIGHT: Scheme = { surface: '#ffffff', ground: '#f4f4f2', away: '#000000' };
const DARK: Scheme = { surface: '#1c1d20', ground: '#121315', away: '#ffffff' };

const DEFAULT_COLOR = '#1d5f63';

const WHITE = '#ffffff';
const BLACK = '#000000';

/** Of text, and of edges and rings. */
const TEXT_CONTRAST = 4.5;
const EDGE_CONTRAST = 3;

/** @returns `false` for anything but `#rrggbb`: nothing else may reach a style sheet */
export function isColor(color: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(color);
}

/** Custom properties for both schemes. */
export function paletteOf(color: string | undefined): string {
  const brand = color !== undefined && isColor(color) ? color.toLowerCase() : DEFAULT_COLOR;
  return `:root{${propertiesOf(brand, LIGHT)}}@media(prefers-color-scheme:dark){:root{${propertiesOf(brand, DARK)}}}`;
}

function propertiesOf(brand: string, scheme: Scheme): string {
  const onBrand = textOn(brand);
  const hover = hoverOf(brand, onBrand);
  const accent = readable(brand, [scheme.surface, scheme.ground], TEXT_CONTRAST, scheme.away);
  const edge = readable(brand, [scheme.surface], EDGE_CONTRAST, scheme.away);
  return `--brand:${brand};--on-brand:${onBrand};--hover:${hover};--edge:${edge};--accent:${accent}`;
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
function readable(color: string, against: readonly string[], least: number, away: string): string {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, away, share);
    if (against.every((background) => contrast(mixed, background) >= least)) return mixed;
  }
  return away;
}

/** From 1 to 21 (WCAG 2.2, contrast ratio). */
export function contrast(one: string, other: string): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(color: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(color).map((value, at) => Math.round(value + ((others[at] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
