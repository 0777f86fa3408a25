import { type LocalizedMember, preferencesOf } from '@grantd/core';
import { INACTIVE_REASONS } from '@grantd/core/internal/http/errors';
import { PAGE_REASONS } from '../log/page_events.ts';
import * as deActs from './de/acts.ts';
import * as deCauses from './de/causes.ts';
import * as deConsole from './de/console.ts';
import * as deEvents from './de/events.ts';
import * as deFormats from './de/formats.ts';
import * as deHints from './de/hints.ts';
import * as deLabels from './de/labels.ts';
import * as deOverview from './de/overview.ts';
import * as dePages from './de/pages.ts';
import * as deReasons from './de/reasons.ts';
import * as deRefusals from './de/refusals.ts';
import * as deSupport from './de/support.ts';
import * as deWarnings from './de/warnings.ts';
import * as enActs from './en/acts.ts';
import * as enCauses from './en/causes.ts';
import * as enConsole from './en/console.ts';
import * as enEvents from './en/events.ts';
import * as enFormats from './en/formats.ts';
import * as enHints from './en/hints.ts';
import * as enLabels from './en/labels.ts';
import * as enOverview from './en/overview.ts';
import * as enPages from './en/pages.ts';
import * as enReasons from './en/reasons.ts';
import * as enRefusals from './en/refusals.ts';
import * as enSupport from './en/support.ts';
import * as enWarnings from './en/warnings.ts';

const PARTS_EN = {
  ...enActs,
  ...enCauses,
  ...enConsole,
  ...enEvents,
  ...enFormats,
  ...enHints,
  ...enLabels,
  ...enOverview,
  ...enPages,
  ...enReasons,
  ...enRefusals,
  ...enSupport,
  ...enWarnings,
};

/** A language that lacks a text does not compile. */
function catalogue(language: Language, parts: typeof PARTS_EN) {
  const {
    ACTS,
    CAUSES,
    CONSOLE,
    EVENTS,
    FORMATS,
    FORMS,
    HINTS,
    LABELS,
    OVERVIEW,
    PAGES,
    REASONS,
    REFUSALS,
    SUPPORT,
    WARNINGS,
  } = parts;
  const console = {
    ...CONSOLE,
    acts: ACTS,
    causes: CAUSES,
    forms: { ...FORMS, hints: HINTS },
    events: EVENTS,
    reasons: REASONS,
    refusals: REFUSALS,
    support: SUPPORT,
    overview: OVERVIEW,
    warnings: WARNINGS,
  };
  return { formats: FORMATS, language, ...PAGES, labels: LABELS, console };
}

/** The texts of all pages in one language. */
export type Texts = ReturnType<typeof catalogue>;

export const EN = catalogue('en', PARTS_EN);

export const DE = catalogue('de', {
  ...deActs,
  ...deCauses,
  ...deConsole,
  ...deEvents,
  ...deFormats,
  ...deHints,
  ...deLabels,
  ...deOverview,
  ...dePages,
  ...deReasons,
  ...deRefusals,
  ...deSupport,
  ...deWarnings,
});

/** The language tag (BCP 47) of a catalogue. */
export type Language = string;

/** Form of a language tag that names a file. */
export const LANGUAGE_FORM = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/;

export type Catalogues = ReadonlyMap<Language, Texts>;

/** The catalogues of the program, the default first. */
export const OWN_CATALOGUES: Catalogues = new Map([
  ['en', EN],
  ['de', DE],
]);

export const DEFAULT_LANGUAGE: Language = 'en';

let catalogues = OWN_CATALOGUES;

/** Sets the catalogues of this process, once it has read the operator’s files. They include the default. */
export function useCatalogues(wanted: Catalogues): void {
  catalogues = wanted;
}

/** Every language that has a catalogue. */
export function languages(): readonly Language[] {
  return [...catalogues.keys()];
}

/** The texts in a language, or else in the default one. */
export function textsIn(language: Language): Texts {
  return catalogues.get(language) ?? EN;
}

/** The sentence about a reason code. @returns `undefined` if the text is no reason code */
export function reasonIn({ console: { reasons } }: Texts, code: string): string | undefined {
  return Object.hasOwn(reasons, code) ? reasons[code as keyof typeof reasons] : undefined;
}

/** The first sentence about a reason code without its full stop, or the text itself if it is no reason code. */
export function reasonLabel(texts: Texts, code: string): string {
  const [first = code] = (reasonIn(texts, code) ?? code).split(/(?<=[^.]{3})[.:](?= |$)/);
  return first;
}

/** What a reason is about: a token, a request of a client, or a page. */
export type ReasonKind = 'inactive' | 'refused' | 'page';

export function reasonKindOf(code: string): ReasonKind {
  if (Object.hasOwn(INACTIVE_REASONS, code)) return 'inactive';
  return Object.hasOwn(PAGE_REASONS, code) ? 'page' : 'refused';
}

/** The catalogue that a tag names, also with more subtags: `de` serves `de-AT` and `de_AT` (OpenID Connect Core §5.1). */
export function languageOf(tag: string): Language | undefined {
  const wanted = `${tag.toLowerCase().replaceAll('_', '-')}-`;
  const serving = languages().filter((one) => wanted.startsWith(`${one.toLowerCase()}-`));
  return serving.toSorted((one, other) => other.length - one.length)[0];
}

/** The language that a user has chosen on a page. */
export interface ChosenLanguage {
  readonly language?: Language | undefined;
  /** Whether the choice is so recent that it is about the present request. */
  readonly isRecent?: boolean;
}

/** No person prefers more languages than this. */
const MAX_UI_LOCALES = 50;

/**
 * The language of a page: the first language with a catalogue among the application’s preferences, the user’s choice and
 * the browser’s preferences (RFC 4647 §3.4, lookup). A recent choice comes first.
 * @param uiLocales language tags, most preferred first (OpenID Connect Core §3.1.2.1)
 * @param acceptLanguage the header (RFC 9110 §12.5.4)
 */
export function languageFor(
  uiLocales: readonly string[],
  acceptLanguage: string | undefined,
  chosen: ChosenLanguage = {},
): Language {
  const { isRecent, language: choice } = chosen;
  const choices = choice === undefined ? [] : [choice];
  const wanted = uiLocales.slice(0, MAX_UI_LOCALES);
  const tags = isRecent === true ? [...choices, ...wanted] : [...wanted, ...choices];
  return tags.map(languageOf).find((one) => one !== undefined) ?? preferred(acceptLanguage);
}

/** The language of the header, without a range for `*`. If none has a catalogue, the first without weight 0. */
function preferred(acceptLanguage: string | undefined): Language {
  const ranges = preferencesOf(acceptLanguage).toSorted((one, other) => other.weight - one.weight);
  const languageIn = ({ value, weight }: (typeof ranges)[number]) =>
    weight > 0 ? languageOf(value) : undefined;
  const unwanted = ranges.filter(({ weight }) => weight === 0).map(({ value }) => value);
  return (
    ranges.map(languageIn).find((one) => one !== undefined) ??
    languages().find((one) => !unwanted.includes(one.toLowerCase())) ??
    DEFAULT_LANGUAGE
  );
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
  const wanted = language.toLowerCase();
  const tags = Object.keys(metadata)
    .filter((name) => name.startsWith(`${member}#`))
    .map((name) => ({ name, tag: name.slice(member.length + 1).toLowerCase() }));
  const best = tags.find(({ tag }) => tag === wanted) ?? tags.find(({ tag }) => tag.startsWith(`${wanted}-`));
  const value = metadata[best?.name ?? member];
  return typeof value === 'string' ? value : undefined;
}
