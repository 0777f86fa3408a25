// Lists of users, clients and groups, which share one shape.
import { html } from 'hono/html';
import { CLIENT_KINDS } from '../admin/clients.ts';
import { cursorOf, type Page, readCursor } from '../admin/operation.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, nextLink, urlOf } from './frame.ts';

/** Each list: the parameter that names one of its things, and the text above its search. */
const LISTS = {
  users: { parameter: 'sub', label: 'searchUsers', kinds: [] },
  clients: { parameter: 'id', label: 'searchClients', kinds: CLIENT_KINDS },
  groups: { parameter: 'name', label: 'searchGroups', kinds: [] },
} as const;

type ListName = keyof typeof LISTS;

const ROWS_PER_PAGE = 50;

/** One thing in a list. */
export interface ListRow {
  /** What its URL has. */
  readonly key: string;
  readonly name: string;
  readonly details?: readonly string[];
  readonly badges?: readonly Badge[];
}

const BADGES = { self_registered: '', by_document: '', administrators: '', disabled: ' bad' } as const;

export type Badge = keyof typeof BADGES;

export interface ListView extends ConsoleView {
  readonly current: ListName;
  readonly rows: readonly ListRow[];
  readonly search: string;
  /** Of clients. */
  readonly kind?: string | undefined;
  /** URL of the next page. */
  readonly next?: string;
}

/** What a visitor of a list wants to see, as operations take it. */
export interface ListWish {
  readonly limit: number;
  readonly search?: string;
  readonly cursor?: string;
}

/** The wish of a page. The parameter `after` of its URL has the row before it. */
export function wishOf({ c }: Pick<Visit, 'c'>): ListWish {
  const { search = '', after = '' } = c.req.query();
  return {
    limit: ROWS_PER_PAGE,
    ...(search !== '' && { search }),
    ...(after !== '' && { cursor: cursorOf(after) }),
  };
}

/** The row before the next page. @returns `undefined` on the last page */
export function nextAfter({ next_cursor: cursor }: { readonly next_cursor?: string }): string | undefined {
  return cursor === undefined ? undefined : String(readCursor(cursor));
}

/** A page of a list, from the document of an operation. */
export function listOf<T>(
  { c, view }: Pick<Visit, 'c' | 'view'>,
  current: ListName,
  page: Page<T>,
  rowOf: (item: T) => ListRow,
): ListView {
  const { search = '', kind } = c.req.query();
  const after = nextAfter(page);
  const wish = { search, ...(kind !== undefined && { kind }) };
  const next = after === undefined ? undefined : urlOf(view.base, current, { ...wish, after });
  return { ...view, current, rows: page.items.map(rowOf), search, kind, ...(next !== undefined && { next }) };
}

/** The URL of one thing in a list. */
export function thingUrl(
  base: string,
  list: ListName,
  key: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  return urlOf(base, list, { [LISTS[list].parameter]: key, ...parameters });
}

/** Links to things of a list; `undefined` without any. */
export function thingLinks(base: string, list: ListName, keys: readonly string[]): Html | undefined {
  return keys.length === 0
    ? undefined
    : html`<span class="listed">${keys.map((key) => html`<a href="${thingUrl(base, list, key)}"><bdi>${key}</bdi></a> `)}</span>`;
}

/** A list: field `search`, link `next`. */
export function listBody({ base, current, rows, search, kind, next }: ListView, texts: Texts): Html {
  const { console: words } = texts;
  const { kinds } = LISTS[current];
  return html`<form method="get" action="${urlOf(base, current)}" role="search" class="search" aria-label="${words[LISTS[current].label]}">
${
  kinds.length === 0
    ? ''
    : html`<label for="kind">${words.clientKind}</label>
<select id="kind" name="kind"><option value="">${words.clientKinds.all}</option>
${kinds.map((one) => html`<option value="${one}"${one === kind ? html` selected` : ''}>${words.clientKinds[one]}</option>\n`)}</select>
`
}<label for="search">${words[LISTS[current].label]}</label>
<div class="field"><input id="search" name="search" value="${search}" autocomplete="off" spellcheck="false">
<button id="search-submit" type="submit">${words.search}</button></div>
</form>
${rows.length === 0 ? html`<p class="empty">${words.nothingFound}</p>` : rowList(base, current, rows, texts)}
${nextLink(next, texts)}`;
}

/** Links to things. */
export function rowList(base: string, list: ListName, rows: readonly ListRow[], texts: Texts): Html {
  return html`<ul class="rows" role="list">
${rows.map((row) => html`<li><a href="${thingUrl(base, list, row.key)}"><bdi>${row.name}</bdi></a>${badges(row.badges, texts)}${detailsOf(row)}</li>\n`)}</ul>`;
}

export function badges(list: readonly Badge[] = [], { console: words }: Texts): Html {
  return html`${list.map((badge) => html` <span class="badge${BADGES[badge]}">${words.badges[badge]}</span>`)}`;
}

function detailsOf({ details = [] }: ListRow): Html | '' {
  return details.length === 0
    ? ''
    : html`<p class="detail">${details.map((one) => html`<bdi>${one}</bdi> `)}</p>`;
}
