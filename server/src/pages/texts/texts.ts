import { DE } from './de.ts';
import { EN, type Texts } from './en.ts';

/** Every catalogue by its language tag (BCP 47); the first is the default. */
const CATALOGUES = { en: EN, de: DE } as const satisfies Record<string, Texts>;

export type Language = keyof typeof CATALOGUES;

export const LANGUAGES = Object.keys(CATALOGUES) as readonly Language[];

export const DEFAULT_LANGUAGE: Language = 'en';

export function textsIn(language: Language): Texts {
  return CATALOGUES[language];
}
