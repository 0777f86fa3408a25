// Lists of users, clients and groups: a table with filters, sorted by an index, and the way to the pages around it.
import { html } from 'hono/html';
import { CLIENT_KINDS, CLIENT_STATES } from '../admin/clients.ts';
import type { Page } from '../admin/operation.ts';
import { optional } from '../admin/schema.ts';
import { LISTED_FACTORS, PEOPLE_STATES } from '../data/people_list.ts';
import { copyOf } from '../pages/drawing/copying.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { actNamed, BULK_ACTS, type BulkList } from './bulk_acts.ts';
import { type ConsoleView, partLinks, problemLine, urlOf } from './frame.ts';
import { called, type Names } from './names.ts';

interface ListAbout {
  readonly parameter: string;
  readonly label: 'searchUsers' | 'searchClients' | 'searchGroups';
  readonly filters: Readonly<Partial<Record<FilterName, readonly string[]>>>;
}

/** Each list: the parameter that names one of its things, the text above its search, and its filters. */
const LISTS = {
  users: {
    ...{ parameter: 'sub', label: 'searchUsers' },
    filters: { state: PEOPLE_STATES, factor: LISTED_FACTORS },
  },
  clients: {
    ...{ parameter: 'id', label: 'searchClients' },
    filters: { kind: CLIENT_KINDS, state: CLIENT_STATES },
  },
  groups: { parameter: 'name', label: 'searchGroups', filters: {} },
} as const satisfies Readonly<Record<string, ListAbout>>;

export type ListName = keyof typeof LISTS;

type FilterName = 'state' | 'factor' | 'kind';

/** The filters of a list, with the values that they can have. */
function filtersOf(list: ListName): readonly (readonly [name: FilterName, values: readonly string[]])[] {
  return Object.entries(LISTS[list].filters) as [FilterName, readonly string[]][];
}

const ROWS_PER_PAGE = 50;

/** One thing in a list. */
export interface ListRow {
  /** What its URL has. */
  readonly key: string;
  readonly name: string;
  /** In lists without columns. */
  readonly details?: readonly string[];
  /** One for each column but the first. */
  readonly cells?: readonly Cell[];
  readonly badges?: readonly Badge[];
  /** Whether a button copies the name. */
  readonly copies?: boolean;
}

/** Empty if there is no value. */
export type Cell = Html | string | undefined;

const BADGES = {
  self_registered: '',
  by_document: '',
  administrator: '',
  administrators: '',
  disabled: ' bad',
  locked: ' wait',
} as const;

export type Badge = keyof typeof BADGES;

/** What columns need. */
export interface TableNeeds {
  readonly texts: Texts;
  readonly nowMs: number;
}

export interface Column extends Pick<Head, 'title' | 'size'> {
  /** The value of the parameter `sort`, if the list can have this order. */
  readonly sort?: string;
}

/** A link to a part of a list that is often needed. */
interface Shortcut {
  readonly title: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface ListView extends ConsoleView {
  readonly current: ListName;
  readonly columns: readonly Column[];
  readonly rows: readonly ListRow[];
  /** The parameters of the URL, without the cursor. */
  readonly wish: Readonly<Record<string, string>>;
  readonly shortcuts?: readonly Shortcut[] | undefined;
  /** Number of items on all pages, if it is known. */
  readonly total?: number;
  /** What to do first, if there is nothing yet. */
  readonly firstStep?: string;
  readonly pages: PageUrls;
}

/** URLs of the pages around this one. */
export interface PageUrls {
  readonly first?: string;
  readonly previous?: string;
  readonly next?: string;
  /** How many things were looked at, if the search stopped before the page was full. */
  readonly lookedAt?: number;
}

/** Milliseconds after which a search stops, and the page says so. */
export const SEARCH_MS = 25;

/** What a visitor of a list wants to see, as operations take it. */
export interface ListWish {
  readonly limit: number;
  readonly search?: string;
  readonly cursor?: string;
  readonly descending?: boolean;
}

/** The wish of a page. */
export function wishOf({ c }: Pick<Visit, 'c'>): ListWish {
  const { search = '', cursor = '', descending } = c.req.query();
  return {
    limit: ROWS_PER_PAGE,
    ...(search !== '' && { search }),
    ...(cursor !== '' && { cursor }),
    ...(descending === 'true' && { descending: true }),
  };
}

/** A parameter that has one of some values. Another one counts as none. */
export function chosen<const N extends string, const V extends string>(
  { c }: Pick<Visit, 'c'>,
  name: N,
  values: readonly V[],
) {
  return optional(
    name,
    values.find((value) => value === c.req.query(name)),
  );
}

/** A page that may have ended because a search took too long. */
type SearchedPage<T> = Page<T> & { readonly looked_at?: number };

/** Links to the pages around one. @param urlWith the URL of the list with a cursor */
export function pagesAround(
  { previous_cursor: previous, next_cursor: next, looked_at: lookedAt }: SearchedPage<unknown>,
  urlWith: (cursor?: string) => string,
): PageUrls {
  return {
    ...(previous !== undefined && { first: urlWith(), previous: urlWith(previous) }),
    ...(next !== undefined && { next: urlWith(next) }),
    ...optional('lookedAt', lookedAt),
  };
}

/** A page of a list, from the document of an operation. */
export function listOf<T>(
  { c, view }: Pick<Visit, 'c' | 'view'>,
  current: ListName,
  page: SearchedPage<T>,
  columns: readonly Column[],
  rowOf: (item: T) => ListRow,
): ListView & { readonly current: ListName } {
  const { cursor: _, notice: __, ...given } = c.req.query();
  const names = ['search', 'group', 'sort', 'descending', ...filtersOf(current).map(([name]) => name)];
  const wish = Object.fromEntries(
    Object.entries(given).filter(([name, value]) => names.includes(name) && value !== ''),
  );
  return {
    ...{ ...view, current, columns, rows: page.items.map(rowOf), wish },
    pages: pagesAround(page, (cursor) => urlOf(view.base, current, { ...wish, cursor })),
    ...optional('total', page.total),
  };
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

/** Links to things of a list; `undefined` without any. @param names default: the keys */
export function thingLinks(
  base: string,
  list: ListName,
  keys: readonly string[],
  names: readonly string[] = keys,
): Html | undefined {
  return keys.length === 0
    ? undefined
    : html`<span class="listed">${keys.map((key, at) => html`<a href="${thingUrl(base, list, key)}"><bdi>${names[at]}</bdi></a> `)}</span>`;
}

/** Links to clients, as titles call them; `undefined` without any. */
export function clientLinks(base: string, ids: readonly string[], names: Names): Html | undefined {
  const shown = ids.map((id) => called(id, names.client(id)));
  return thingLinks(base, 'clients', ids, shown);
}

/** Fields `search` and those of the filters, table, bulk acts `bulk-ACT`, links `first`, `previous` and `next`. */
export function listBody(view: ListView, texts: Texts): Html {
  const { base, current, rows, wish, shortcuts = [], firstStep, pages, total } = view;
  const { console: words } = texts;
  const isWhole = Object.keys(wish).every((name) => ['sort', 'descending'].includes(name));
  return html`${
    shortcuts.length === 0
      ? ''
      : partLinks(
          words.shortcuts,
          shortcuts.map(({ title, parameters }) => ({
            ...{ title, url: urlOf(base, current, parameters) },
            isCurrent: isSame(parameters, wish),
          })),
        )
  }
${searchForm(view, texts)}
${
  rows.length === 0
    ? html`<div class="empty">${pages.lookedAt === undefined ? html`<p role="status">${isWhole ? (firstStep ?? words.nothingFound) : words.nothingFound}</p>` : ''}${isWhole ? '' : html`<p><a id="all" href="${urlOf(base, current)}">${words.showAll}</a></p>`}</div>`
    : html`${total === undefined ? '' : html`<p class="note">${words.countOf[current](total, texts.formats.number(total))}</p>`}
${tableWithActs(view, texts)}`
}
${pageLinks(pages, texts)}`;
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const shown = ({ sort: _, descending: __, ...others }: Readonly<Record<string, string>>) =>
    JSON.stringify(Object.entries(others).toSorted());
  return shown(one) === shown(other);
}

function searchForm({ base, current, wish }: ListView, { console: words }: Texts): Html {
  const label = words[LISTS[current].label];
  const { search = '', group, sort, descending } = wish;
  return html`<form method="get" action="${urlOf(base, current)}" role="search" class="filter" aria-label="${label}">
${Object.entries({ group, sort, descending }).map(([name, value]) => (value === undefined ? '' : html`<input type="hidden" name="${name}" value="${value}">\n`))}<div class="wide-field"><label for="search">${label}</label>
<input id="search" name="search" value="${search}" maxlength="200" autocomplete="off" spellcheck="false"></div>
${filtersOf(current).length === 0 ? '' : filterFields(filtersOf(current), wish, words)}<button id="search-submit" type="submit">${words.search}</button>
</form>`;
}

/** Wide screens show the fields without opening anything. */
function filterFields(
  filters: ReturnType<typeof filtersOf>,
  wish: ListView['wish'],
  words: Texts['console'],
): Html {
  const isOpen = filters.some(([name]) => (wish[name] ?? '') !== '');
  return html`<details class="unfolded"${isOpen ? html` open` : ''}><summary>${words.filters.show}</summary>
${filters.map(
  ([name, values]) => html`<div><label for="${name}">${words.filters[name]}</label>
<select id="${name}" name="${name}"><option value="">${words.filters.all}</option>
${values.map((value) => html`<option value="${value}"${value === wish[name] ? html` selected` : ''}>${optionText(words, name, value)}</option>\n`)}</select></div>
`,
)}</details>`;
}

function optionText({ filterValues }: Texts['console'], name: FilterName, value: string): string {
  const names: Readonly<Record<string, string>> = filterValues[name];
  return names[value] ?? value;
}

/** The table, in a form that asks before it changes what is selected. */
function tableWithActs(view: ListView, texts: Texts): Html {
  const { base, current, rows, wish } = view;
  const { console: words } = texts;
  const nameOf = ({ key, name, badges: own, copies = false }: ListRow) => {
    const link = html`<a href="${thingUrl(base, current, key)}"><bdi title="${name}">${name}</bdi></a>`;
    return html`${copies ? html`<span class="copied">${link}${copyOf(name, texts)}</span>` : link}${badges(own, texts)}`;
  };
  const table = dataTable(
    {
      name: words.pages[current],
      heads: headsOf(view),
      rows: rows.map((row) => ({
        pick: pickOf(row, texts),
        cells: [nameOf(row), ...(row.cells ?? [])],
      })),
    },
    texts,
  );
  return bulkForm(view, current, wish, table, texts);
}

/**
 * A table with a checkbox in each row, in a form that asks before it changes what is selected.
 * @param wish the parameters of the list, which it has again if nothing is selected
 */
export function bulkForm(
  { base, isUnpicked = false }: Pick<ConsoleView, 'base' | 'isUnpicked'>,
  list: BulkList,
  wish: Readonly<Record<string, string>>,
  table: Html,
  { console: words }: Texts,
): Html {
  const acts = Object.keys(BULK_ACTS[list]) as (keyof Texts['console']['bulk']['acts'])[];
  return html`<form method="get" action="${urlOf(base, list)}">
<input type="hidden" name="ask" value="bulk">
<input type="hidden" name="wish" value="${new URLSearchParams(wish).toString()}">
${isUnpicked ? html`${problemLine(words.bulk.unpicked[list], 'unpicked')}\n` : ''}${table}
<fieldset class="bulk"><legend>${words.bulk.selected} <output id="picked-count"></output></legend>
${acts.map((act) => html`<button id="bulk-${act}" type="submit"${actNamed(list, act)?.isFinal ? html` class="ending"` : ''} name="do" value="${act}">${words.bulk.acts[act]}</button>\n`)}</fieldset>
</form>`;
}

/** The checkbox of a row. */
export function pickOf({ key, name }: Pick<ListRow, 'key' | 'name'>, { console: words }: Texts): Html {
  return html`<input type="checkbox" name="picked" value="${key}" aria-label="${words.bulk.select(name)}">`;
}

function headsOf({ base, current, columns, wish }: ListView): readonly Head[] {
  const sorted = wish.sort ?? columns.find(({ sort }) => sort !== undefined)?.sort;
  return columns.map(({ title, size, sort }) => {
    const head = { title, ...optional('size', size) };
    if (sort === undefined) return head;
    const isDescending = wish.descending === 'true';
    const turned = sort === sorted && !isDescending ? 'true' : '';
    return {
      ...head,
      url: urlOf(base, current, { ...wish, sort, descending: turned }),
      ...(sort === sorted && { order: isDescending ? 'descending' : 'ascending' }),
    };
  });
}

export interface Head {
  readonly title: string;
  /** The width of the column: `small` for times and numbers, `large` for addresses. Default: an equal part of the rest. */
  readonly size?: 'small' | 'large';
  /** Sorts by this column. */
  readonly url?: string;
  readonly order?: 'ascending' | 'descending';
}

interface TableShown {
  readonly name: string;
  readonly heads: readonly Head[];
  readonly rows: readonly { readonly pick?: Html; readonly cells: readonly Cell[] }[];
}

/** Tables with more columns become cards on wider screens too. */
const MANY_COLUMNS = 5;

/** A table, whose rows are cards on narrow screens. */
export function dataTable({ name, heads, rows }: TableShown, { console: words }: Texts): Html {
  const hasPicks = rows.some(({ pick }) => pick !== undefined);
  const headOf = ({ title, size, url, order }: Head) =>
    html`<th scope="col"${size === undefined ? '' : html` class="${size}"`}${order === undefined ? '' : html` aria-sort="${order}"`}>${url === undefined ? title : html`<a href="${url}">${title}</a>`}</th>`;
  return html`<table class="data${heads.length > MANY_COLUMNS ? ' many' : ''}" aria-label="${name}">
<thead><tr>${hasPicks ? html`<td><input id="pick-all" type="checkbox" hidden><label for="pick-all" class="unseen">${words.bulk.selectAll}</label></td>` : ''}${heads.map(headOf)}</tr></thead>
<tbody>
${rows.map(
  ({ pick, cells: [first = '', ...cells] }) =>
    html`<tr>${hasPicks ? html`<td class="pick">${pick ?? ''}</td>` : ''}<th scope="row">${first}</th>${heads.slice(1).map(({ title }, index) => html`<td data-title="${title}">${cells[index] ?? ''}</td>`)}</tr>\n`,
)}</tbody>
</table>`;
}

/** Links `first`, `previous` and `next`, and note `looked-at` above them if the search goes on. */
export function pageLinks({ first, previous, next, lookedAt }: PageUrls, texts: Texts): Html | '' {
  const { console: words, formats } = texts;
  const link = (id: 'first' | 'previous' | 'next', url: string | undefined, text = words.turning[id]) =>
    url === undefined ? '' : html`<a id="${id}" class="button" href="${url}">${text}</a>\n`;
  if ((first ?? previous ?? next) === undefined) return '';
  return html`${lookedAt === undefined ? '' : html`<p role="status" id="looked-at" class="note">${words.lookedAt(formats.number(lookedAt))}</p>\n`}<nav class="turning" aria-label="${words.turning.label}">
${link('first', first)}${link('previous', previous)}${link('next', next, lookedAt === undefined ? words.turning.next : words.turning.goOn)}</nav>`;
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
