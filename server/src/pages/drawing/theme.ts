// The operator's theme: a file with colours, a font, texts and links for all pages.
import { dirname, resolve } from 'node:path';
import { isJsonObject, similarName } from '@grantd/core/options';
import { type Configuration, typedPath } from '../../config/configuration.ts';
import { bytesOf, PICTURE_TYPES, type Picture, readLogo } from '../../config/picture.ts';
import { ConfigurationRefused } from '../../config/refused.ts';
import { LANGUAGE_FORM } from '../../texts/texts.ts';
import { brandColors, contrast, EDGE_CONTRAST, isColor, SCHEMES, TEXT_CONTRAST } from './brand.ts';

/** Colours of one scheme, by the names of the style sheet. */
export type SchemeColors = typeof SCHEMES.light & { readonly brand?: string; readonly accent?: string };

/** A font file, as the server sends it. */
export interface Font {
  readonly type: 'font/woff2' | 'font/woff';
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Theme {
  readonly logo?: Picture;
  /** Absent if the file names no colours. */
  readonly colors?: { readonly light: SchemeColors; readonly dark: SchemeColors };
  /** Pixels. */
  readonly radius?: number;
  readonly fontStack?: string;
  readonly font?: Font;
  /** Texts by language. */
  readonly texts: Readonly<Record<string, unknown>>;
  readonly links: { readonly help?: string; readonly privacy?: string };
}

const MAX_THEME_BYTES = 256 * 1024;
const MAX_FONT_BYTES = 512 * 1024;
const MAX_RADIUS = 24;
const MAX_URL_LENGTH = 2000;

/** Fonts that operating systems have. */
const FONT_STACKS: Readonly<Record<string, string>> = {
  system: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
  humanist: "Seravek, 'Gill Sans Nova', Ubuntu, Calibri, 'DejaVu Sans', sans-serif",
  serif: "ui-serif, Charter, 'Bitstream Charter', Cambria, Georgia, serif",
  monospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
};

const COLORS: Readonly<Record<keyof SchemeColors, string>> = {
  brand: 'Of buttons, and of the monogram if there is no logo.',
  accent: 'Of links. Default: the brand colour, or the nearest colour that is readable.',
  ground: 'Behind the page.',
  surface: 'Of the page itself.',
  text: 'Of text.',
  muted: 'Of less important text.',
  line: 'Of lines that only divide.',
  edge: 'Of borders of fields and buttons.',
  danger: 'Of errors, and of buttons that delete.',
  'danger-ground': 'Behind errors.',
  success: 'Of confirmations.',
  'success-ground': 'Behind confirmations.',
};

/** Colours that users have to tell apart (WCAG 2.2 §1.4.3, §1.4.11). */
const PAIRS: readonly (readonly [keyof SchemeColors, keyof SchemeColors, number])[] = [
  ['text', 'surface', TEXT_CONTRAST],
  ['text', 'ground', TEXT_CONTRAST],
  ['muted', 'surface', TEXT_CONTRAST],
  ['muted', 'ground', TEXT_CONTRAST],
  ['accent', 'surface', TEXT_CONTRAST],
  ['accent', 'ground', TEXT_CONTRAST],
  ['danger', 'surface', TEXT_CONTRAST],
  ['danger', 'danger-ground', TEXT_CONTRAST],
  ['success', 'success-ground', TEXT_CONTRAST],
  ['edge', 'surface', EDGE_CONTRAST],
];

const ABOUT = {
  $schema: 'Where the form of this file is described, for editors.',
  logo: `File next to this one: ${[...PICTURE_TYPES.keys()].join(', ')}. At most 256 KiB.`,
  colors: 'Colours of the light and the dark scheme. A colour that is missing is the one of the program.',
  radius: 'Pixels by which corners of fields and buttons are round.',
  font: 'The font of all pages.',
  texts: 'Other texts, by language and name. grantd texts prints all names.',
  links: 'Links below every page.',
} as const;

const LINKS = { help: 'Page that helps users.', privacy: 'Privacy policy of the operator.' } as const;

const FONT = {
  stack: 'Fonts of the operating system.',
  file: 'File next to this one: .woff2 or .woff, at most 512 KiB. The stack is shown until it is there.',
} as const;

/** JSON Schema of the file. */
export function schemaOfTheme(): object {
  const object = (properties: object, more: object = {}) => ({
    type: 'object',
    properties,
    additionalProperties: false,
    ...more,
  });
  const color = (description: string) => ({ type: 'string', pattern: '^#[0-9a-fA-F]{6}$', description });
  const scheme = object(
    Object.fromEntries(Object.entries(COLORS).map(([name, item]) => [name, color(item)])),
  );
  const file = (description: string) => ({ type: 'string', description });
  const link = (description: string) => ({
    ...{ type: 'string', format: 'uri', pattern: '^https://', maxLength: MAX_URL_LENGTH, description },
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Theme of the pages of grantd',
    ...object({
      $schema: { type: 'string', description: ABOUT.$schema },
      logo: file(ABOUT.logo),
      colors: object({ light: scheme, dark: scheme }, { description: ABOUT.colors }),
      radius: { type: 'number', minimum: 0, maximum: MAX_RADIUS, description: ABOUT.radius },
      font: object(
        {
          stack: { enum: Object.keys(FONT_STACKS), default: 'system', description: FONT.stack },
          file: file(FONT.file),
        },
        { description: ABOUT.font },
      ),
      texts: {
        type: 'object',
        description: ABOUT.texts,
        patternProperties: { [LANGUAGE_FORM.source]: { type: 'object' } },
        additionalProperties: false,
      },
      links: object({ help: link(LINKS.help), privacy: link(LINKS.privacy) }, { description: ABOUT.links }),
    }),
  };
}

/**
 * Reads the theme.
 * @returns `undefined` without the option
 * @throws {ConfigurationRefused} the file is unreadable, or a value in it is invalid
 */
export async function readTheme(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<Theme | undefined> {
  if (settings.theme === undefined) return undefined;
  const path = typedPath(environment, settings.theme);
  const source = `${sourceOf('theme')}: ${settings.theme}`;
  const { parsedFile } = await import('../../config/parsed_file.ts');
  const value = parsedFile(path, source, MAX_THEME_BYTES);
  return themeFrom(value, new Refusing(source), dirname(path));
}

/** Names what is refused. */
class Refusing {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  refuse(path: string, problem: string): never {
    throw new ConfigurationRefused(`${this.source}: ${path === '' ? '' : `${path}: `}${problem}`);
  }

  /** The members of an object without others than these. */
  members(value: unknown, path: string, names: readonly string[]): Readonly<Record<string, unknown>> {
    if (value === undefined) return {};
    if (!isJsonObject(value)) this.refuse(path, 'expected an object');
    const unknown = Object.keys(value).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const similar = similarName(unknown, names);
      const advice = similar === undefined ? '' : `. Did you mean ${similar}?`;
      this.refuse(path === '' ? unknown : `${path}.${unknown}`, `there is no such member${advice}`);
    }
    return value;
  }

  text(value: unknown, path: string): string {
    if (typeof value !== 'string' || value.trim() === '') this.refuse(path, 'expected a text');
    return value;
  }
}

function themeFrom(value: unknown, file: Refusing, folder: string): Theme {
  const { logo, colors, radius, font, texts, links } = file.members(value ?? {}, '', Object.keys(ABOUT));
  if (radius !== undefined && !(typeof radius === 'number' && radius >= 0 && radius <= MAX_RADIUS))
    file.refuse('radius', `expected a number from 0 to ${MAX_RADIUS}`);
  const { light, dark } = file.members(colors, 'colors', ['light', 'dark']);
  const { stack, file: fontFile } = file.members(font, 'font', Object.keys(FONT));
  if (stack !== undefined && !(typeof stack === 'string' && Object.hasOwn(FONT_STACKS, stack)))
    file.refuse('font.stack', `expected one of ${Object.keys(FONT_STACKS).join(', ')}`);
  const { help, privacy } = file.members(links, 'links', Object.keys(LINKS));
  if (texts !== undefined && !isJsonObject(texts)) file.refuse('texts', 'expected an object of languages');
  const pathOf = (path: unknown, name: string) => resolve(folder, file.text(path, name));
  return {
    ...(logo !== undefined && { logo: readLogo(pathOf(logo, 'logo'), `${file.source}: logo`) }),
    ...(colors !== undefined && {
      colors: { light: schemeFrom(light, 'light', file), dark: schemeFrom(dark, 'dark', file) },
    }),
    ...(radius !== undefined && { radius }),
    ...(font !== undefined && { fontStack: FONT_STACKS[stack ?? 'system'] ?? '' }),
    ...(fontFile !== undefined && {
      font: readFont(pathOf(fontFile, 'font.file'), `${file.source}: font.file`),
    }),
    texts: texts ?? {},
    links: {
      ...(help !== undefined && { help: linkFrom(help, 'links.help', file) }),
      ...(privacy !== undefined && { privacy: linkFrom(privacy, 'links.privacy', file) }),
    },
  };
}

function linkFrom(value: unknown, path: string, file: Refusing): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.href.length > MAX_URL_LENGTH)
    file.refuse(path, 'expected an https URL');
  return url.href;
}

/** @throws {ConfigurationRefused} a colour is invalid, or two of them are too close */
function schemeFrom(value: unknown, name: 'light' | 'dark', file: Refusing): SchemeColors {
  const path = `colors.${name}`;
  const colorsOfFile = file.members(value, path, Object.keys(COLORS));
  const wrong = Object.entries(colorsOfFile).find(
    ([, color]) => typeof color !== 'string' || !isColor(color),
  );
  if (wrong !== undefined) file.refuse(`${path}.${wrong[0]}`, 'expected a colour as #rrggbb');
  const colors: SchemeColors = { ...SCHEMES[name], ...(colorsOfFile as Partial<SchemeColors>) };
  const { brand, accent } = colors;
  // The program derives an accent that is readable.
  const derived = brand === undefined ? undefined : brandColors(brand, colors, AWAY[name]).accent;
  const allColors: Readonly<Record<string, string | undefined>> = { ...colors, accent: accent ?? derived };
  for (const [pair, other, least] of PAIRS) {
    const [front = '', back = ''] = [allColors[pair], allColors[other]];
    if (front === '' || contrast(front, back) >= least) continue;
    file.refuse(
      path,
      `${pair} (${front}) on ${other} (${back}) has a contrast of ${contrast(front, back).toFixed(2)}, expected at least ${least} (WCAG 2.2 AA)`,
    );
  }
  return colors;
}

/** What is mixed into a brand colour that is too close to the surface. */
const AWAY = { light: '#000000', dark: '#ffffff' } as const;

/** @throws {ConfigurationRefused} the file is unreadable, too large or no font */
function readFont(path: string, source: string): Font {
  const bytes = bytesOf(path, source, MAX_FONT_BYTES);
  const signature = bytes.toString('latin1', 0, 4);
  if (signature === 'wOF2') return { type: 'font/woff2', bytes };
  if (signature === 'wOFF') return { type: 'font/woff', bytes };
  throw new ConfigurationRefused(`${source}: expected a font as WOFF2 or WOFF`);
}
