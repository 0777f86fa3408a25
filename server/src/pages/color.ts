/** @returns `false` for anything but `#rrggbb`: nothing else may reach a style sheet */
export function isColor(color: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(color);
}

/** From 1 to 21 (WCAG 2.2, contrast ratio). */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** @param share of the other colour, from 0 to 1 */
export function mix(color: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(color).map((value, at) => Math.round(value + ((others[at] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** @param hue in degrees; a dark colour of middling saturation */
export function colorOfHue(hue: number): string {
  const channel = (offset: number) => {
    const position = (offset + hue / 30) % 12;
    const value = LIGHTNESS - CHROMA * Math.max(-1, Math.min(position - 3, 9 - position, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

const LIGHTNESS = 0.36;
const CHROMA = 0.2;

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
