import { type LocalizedMember, preferencesOf } from '@grantd/core';
import { DE } from './de.ts';
import { EN, type Texts } from './en.ts';

/** Every catalogue by its language tag (BCP 47). The first is the default. */
const CATALOGUES = { en: EN, de: DE } as const satisfies Record<string, Texts>;

export type Language = keyof typeof CATALOGUES;

export const LANGUAGES = Object.keys(CATALOGUES) as readonly Language[];

export const DEFAULT_LANGUAGE: Language = 'en';

export function textsIn(language: Language): Texts {
  return CATALOGUES[language];
}

/** No person prefers more languages than this. */
const MAX_UI_LOCALES = 50;

/**
 * The language of a page: the first language with a catalogue among the application’s preferences, then the browser’s
 * (RFC 4647 §3.4, lookup).
 * @param uiLocales language tags, most preferred first (OpenID Connect Core §3.1.2.1)
 * @param acceptLanguage the header (RFC 9110 §12.5.4)
 */
export function languageFor(uiLocales: readonly string[], acceptLanguage: string | undefined): Language {
  for (const tag of [...uiLocales.slice(0, MAX_UI_LOCALES), ...preferred(acceptLanguage)]) {
    const language = lookUp(tag);
    if (language !== undefined) return language;
  }
  return DEFAULT_LANGUAGE;
}

/** `de` serves `de-AT`. */
function lookUp(tag: string): Language | undefined {
  const [primary = ''] = tag.toLowerCase().split('-', 1);
  return LANGUAGES.find((language) => language === primary);
}

/** The header’s tags, most preferred first, without `*` and tags of weight 0. */
function preferred(acceptLanguage: string | undefined): readonly string[] {
  return preferencesOf(acceptLanguage)
    .filter(({ value, weight }) => weight > 0 && value !== '*')
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ value }) => value);
}

/**
 * A client metadata member in a language (RFC 7591 §2.2): tagged with the language, tagged with a regional variant, or
 * untagged.
 * @returns `undefined` if the client has none of them
 */
export function localizedMember(
  metadata: Readonly<Record<string, unknown>>,
  member: LocalizedMember | 'name' | 'description',
  language: Language,
): string | undefined {
  const tags = Object.keys(metadata)
    .filter((name) => name.startsWith(`${member}#`))
    .map((name) => ({ name, tag: name.slice(member.length + 1).toLowerCase() }));
  const best =
    tags.find(({ tag }) => tag === language) ?? tags.find(({ tag }) => tag.startsWith(`${language}-`));
  const value = metadata[best?.name ?? member];
  return typeof value === 'string' ? value : undefined;
}
