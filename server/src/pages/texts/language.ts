import { preferencesOf } from '@grantd/core';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language } from './texts.ts';

/** More would be no person's list. */
const MOST_TAGS = 50;

/**
 * The language of a page: the first that there is a catalogue for, of what the application asks for, then of what the
 * browser prefers (RFC 4647 §3.4, lookup).
 * @param uiLocales tags, the most wanted first (OpenID Connect Core §3.1.2.1)
 * @param acceptLanguage the header (RFC 9110 §12.5.4)
 */
export function languageFor(uiLocales: readonly string[], acceptLanguage: string | undefined): Language {
  for (const tag of [...uiLocales.slice(0, MOST_TAGS), ...preferred(acceptLanguage)]) {
    const language = lookUp(tag);
    if (language !== undefined) return language;
  }
  return DEFAULT_LANGUAGE;
}

/** `de-AT` is served by `de`. */
function lookUp(tag: string): Language | undefined {
  const [primary = ''] = tag.toLowerCase().split('-', 1);
  return LANGUAGES.find((language) => language === primary);
}

/** The tags of the header, the most preferred first; those of weight 0 and `*` left out. */
function preferred(acceptLanguage: string | undefined): readonly string[] {
  return preferencesOf(acceptLanguage)
    .filter(({ value, weight }) => weight > 0 && value !== '*')
    .toSorted((one, other) => other.weight - one.weight)
    .map(({ value }) => value);
}
