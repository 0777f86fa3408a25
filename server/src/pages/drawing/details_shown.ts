// Authorization details in words: the operator's text, and every member that the text does not say (RFC 9396 §3).
import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import { type DetailsType, parseTemplate } from '../../config/details_types.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Language, localizedMember } from '../../texts/texts.ts';
import { named } from './application_shown.ts';
import type { DetailShown, Words } from './layout.ts';

/**
 * Describes details in the user's language (ADR 71).
 * @param details JSON texts of objects with a type
 * @param types of the configuration. Details that a user granted earlier may have a type that no longer exists.
 */
export function detailsShown(
  details: readonly string[],
  types: ReadonlyMap<string, DetailsType>,
  language: Language,
): readonly DetailShown[] {
  return details.map((text) => {
    const { type, ...members } = JSON.parse(text);
    const texts = types.get(type)?.texts ?? {};
    const title = wordsOf(localizedMember(texts, 'name', language), members);
    const detail = wordsOf(localizedMember(texts, 'description', language), members);
    const said = [...(title?.paths ?? []), ...(detail?.paths ?? [])];
    return {
      title: title?.words ?? [[type]],
      ...(detail !== undefined && { detail: detail.words }),
      others: leavesOf(members)
        .filter(({ path }) => !said.some((item) => item.every((name, at) => path[at] === name)))
        .map(({ path, value }) => ({ member: withoutDisguise(path.join('.')), values: valuesOf(value) })),
    };
  });
}

/** Fills in a template. @returns `undefined` if there is none */
function wordsOf(
  text: string | undefined,
  members: unknown,
): { readonly words: Words; readonly paths: readonly (readonly string[])[] } | undefined {
  const template = text === undefined ? undefined : parseTemplate(text);
  if (template === undefined) return undefined;
  return {
    words: template.map((part) => (typeof part === 'string' ? part : valuesOf(memberAt(members, part)))),
    paths: template.filter((part) => typeof part !== 'string'),
  };
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (within, name) => (isJsonObject(within) && Object.hasOwn(within, name) ? within[name] : undefined),
    value,
  );
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Members within objects, each with its path. */
function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0)
    return path.length === 0 ? [] : [{ path, value }];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]));
}

/** A value as texts: each element of a list by itself, and what is no visible text as JSON. */
function valuesOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.map(textOf);
  return [textOf(value)];
}

function textOf(value: unknown): string {
  const isVisible = typeof value === 'string' && /[^\s\p{C}]/u.test(value);
  return withoutDisguise(isVisible ? value : (JSON.stringify(value) ?? '–'));
}

/**
 * Characters that show nothing, change the order of others, or cover them, so that one value looks like another (UTS 39
 * §5.4). Controls are among them, except for spaces. A variation selector after an emoji only selects a picture.
 */
const DISGUISES =
  /(?!\s)\p{Cc}|(?!(?<=\p{Emoji})[\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|\u2800|(?<=\p{M}{4})\p{M}/gu;

/** Writes such characters as escapes: the API gets them, so users must see that they are there. */
function withoutDisguise(text: string): string {
  return text.replace(
    DISGUISES,
    (character) => `\\u{${character.codePointAt(0)?.toString(16).toUpperCase()}}`,
  );
}

/** A list of details; empty if there are none. `brief` shows only their titles. */
export function detailsList(details: readonly DetailShown[], as: 'full' | 'brief'): Html | '' {
  if (details.length === 0) return '';
  return html`<ul class="scopes ${as}" role="list">
${details.map((detail) => html`<li>${icon('check')}<span>${sentence(detail.title)}</span>${as === 'full' ? particulars(detail) : ''}</li>\n`)}</ul>`;
}

function particulars({ detail, others }: DetailShown): Html {
  return html`${detail === undefined ? '' : html` <span class="detail">${sentence(detail)}</span>`}${others.map(({ member, values }) => html` <span class="detail"><code dir="auto">${member}</code> ${list(values)}</span>`)}`;
}

function sentence(words: Words): Html {
  return html`${words.map((part) => (typeof part === 'string' ? part : list(part)))}`;
}

/** Isolates each value, so that it cannot change the direction of the text around it. */
function list(values: readonly string[]): Html {
  return html`${values.map((value, at) => html`${at === 0 ? '' : ', '}${named(value)}`)}`;
}
