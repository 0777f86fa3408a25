// How the console shows times, identifiers, users and clients.

import { html } from 'hono/html';
import type { AdministratorChanges } from '../admin/administrator_changes.ts';
import { type Said, sentenceAbout } from '../admin/operation_refused.ts';
import type { Document } from '../admin/table.ts';
import { copyOf } from '../pages/drawing/copying.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { reasonIn, type Texts } from '../texts/texts.ts';
import { labelOf, rawName } from './forms.ts';
import { type Row, termList } from './frame.ts';
import { thingUrl } from './lists.ts';
import type { Names } from './names.ts';

type At = string | number | undefined;

/** What is absent stays absent. */
type Shown<T extends At> = Html | Extract<T, undefined>;

function timeShown<T extends At>(at: T, draw: (atMs: number) => Html | string): Shown<T> {
  if (at === undefined) return undefined as Extract<T, undefined>;
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return html`${draw(atMs)}`;
}

function timeElement(atMs: number, said: string, exact: string): Html {
  return html`<time class="moment" datetime="${new Date(atMs).toISOString()}" title="${exact}">${said}</time>`;
}

/**
 * A time in a column: its distance from now in the weeks around it, else the day. The style shows the exact one with the
 * pointer on it or the focus in its row.
 * @param at of a document, or milliseconds
 * @param exact what the title says. Default: the minute
 */
export function moment<T extends At>(at: T, nowMs: number, { formats }: Texts, exact?: string): Shown<T> {
  return timeShown(at, (atMs) =>
    timeElement(
      atMs,
      formats.distance(atMs, nowMs) ?? formats.shortDate(atMs),
      exact ?? formats.instant(atMs),
    ),
  );
}

/** A time beside a term: its distance from now in the weeks around it, and the exact one. */
export function fullMoment<T extends At>(at: T, nowMs: number, { formats }: Texts): Shown<T> {
  return timeShown(at, (atMs) => {
    const [said, exact] = [formats.distance(atMs, nowMs), formats.instant(atMs)];
    return said === undefined
      ? timeElement(atMs, exact, exact)
      : html`${timeElement(atMs, said, exact)} <span class="exact">(${exact})</span>`;
  });
}

/** A past time in a sentence. */
export function ago(at: string | number, nowMs: number, { formats }: Texts): Html {
  return timeShown(at, (atMs) => timeElement(atMs, formats.past(atMs, nowMs), formats.instant(atMs)));
}

/** The exact time, for sentences such as “until …”. */
export function instant(at: string, { formats }: Texts): Html {
  return html`<time datetime="${at}">${formats.instant(Date.parse(at))}</time>`;
}

/** An identifier. The style shortens a long one. The page still has all of it, so that it can be selected and copied. */
export function identifier(value: string): Html {
  return html`<code class="identifier" title="${value}">${value}</code>`;
}

/** An identifier with a button that copies it. @param shown it, if not as `identifier` draws it */
export function copied(value: string, texts: Texts, shown: Html = identifier(value)): Html {
  return html`<span class="copied">${shown}${copyOf(value, texts)}</span>`;
}

export function codes(values: readonly string[]): Html | undefined {
  return values.length === 0
    ? undefined
    : html`<span class="codes">${values.map((value) => html`<code>${value}</code> `)}</span>`;
}

/** A value of a document: a list, yes or no, a text or JSON. */
export function valueShown(value: unknown, { console: { forms } }: Texts): Html | string | undefined {
  if (typeof value === 'boolean') return value ? forms.yes : forms.no;
  if (typeof value === 'string') return html`<bdi>${value}</bdi>`;
  if (value === undefined) return undefined;
  const texts = [value].flat();
  return texts.every((one) => typeof one === 'string')
    ? codes(texts)
    : html`<code>${JSON.stringify(value)}</code>`;
}

/** The label of a member of a document, with its name beside it. */
export function termOf(name: string, label: string): Html {
  return html`${label} ${rawName(name)}`;
}

/** A member of a document with its value. */
export function memberRow(name: string, value: unknown, texts: Texts, label = labelOf(name, texts)): Row {
  return [termOf(name, label), valueShown(value, texts)];
}

/** What pages need to name users and clients. */
export interface NamingView {
  readonly base: string;
  readonly names: Names;
}

/** A link to a user. One who does not exist any more keeps the subject. */
export function userLink({ base, names }: NamingView, subject: string): Html {
  const name = names.user(subject);
  return name === undefined
    ? html`<span class="gone">${identifier(subject)}</span>`
    : html`<a href="${thingUrl(base, 'users', subject)}"><bdi>${name}</bdi></a>`;
}

/** A link to a client: its name, and its identifier if that says something else. */
export function clientLink({ base, names }: NamingView, id: string): Html {
  const name = names.client(id);
  const shown =
    name === undefined || name === id ? html`<bdi>${id}</bdi>` : html`<bdi>${name}</bdi> (<bdi>${id}</bdi>)`;
  return html`<a href="${thingUrl(base, 'clients', id)}">${shown}</a>`;
}

export function groupLink({ base }: Pick<NamingView, 'base'>, name: string): Html {
  return html`<a href="${thingUrl(base, 'groups', name)}"><bdi>${name}</bdi></a>`;
}

/** A reason code in words, with the code beside it. Another text stands for itself. */
export function reasonLine(code: string, texts: Texts): Html | '' {
  if (code === '') return '';
  const known = reasonIn(texts, code);
  return known === undefined
    ? html`<p class="reason"><bdi>${code}</bdi></p>`
    : html`<p class="reason">${known} ${rawName(code, 0)}</p>`;
}

/** Why an operation was refused. */
export interface RefusalShown {
  /** In English. */
  readonly detail: string;
  readonly said?: Said | undefined;
}

/** A refusal in words of the page, or in English as the operation says it. */
export function refusalText({ detail, said }: RefusalShown, { console: { refusals } }: Texts): Html {
  return said === undefined
    ? html`<span lang="en"><bdi>${detail}</bdi></span>`
    : html`<bdi>${sentenceAbout(said, refusals)}</bdi>`;
}

/** The first of several names, after a space. */
export function firstNames(names: readonly string[], count: number, { formats }: Texts): Html {
  if (names.length === 0) return html``;
  return html` <bdi>${names.length < count ? `${names.join(', ')} …` : formats.list(names)}</bdi>`;
}

/** Whom a plan makes an administrator, and of whom it ends that, in the words of the questions about single users. */
export function administratorsShown(changes: AdministratorChanges | undefined, texts: Texts): Html {
  const { acts, countOf, files } = texts.console;
  const says = { become: acts.users.join_administrators.text, stop: acts.users.leave_several.text };
  return html`${(['become', 'stop'] as const).map((change) => {
    const { count, usernames } = changes?.[change] ?? { count: 0, usernames: [] };
    if (count === 0) return '';
    const users = html`${countOf.users(count, texts.formats.number(count))}:${firstNames(usernames, count, texts)}`;
    return html`<p class="caution">${icon('alert')}<span>${says[change]}</span></p>
${termList([[files.administrators[change], users]])}\n`;
  })}`;
}

/** How many tokens end, as `revokeAll` counts them. */
export function tokensCounted(
  { active = 0, has_more: hasMore = false }: Document<'revokeAll'>,
  texts: Texts,
): Row {
  return [texts.console.activeTokens, atLeastShown(active, hasMore, texts)];
}

/** A count that may have stopped. */
export function atLeastShown(
  count: number,
  isLeast: boolean,
  { console: words, formats }: Pick<Texts, 'console' | 'formats'>,
): string {
  return isLeast ? words.atLeast(formats.number(count)) : formats.number(count);
}
