import { EVENT_TYPES } from '@grantd/core';
import { html } from 'hono/html';
import { type AuditEventView, filterFrom } from '../admin/audit.ts';
import { requirePossible } from '../admin/in_process.ts';
import {
  cursorOf,
  type Page as List,
  MAX_EVENTS_READ,
  MAX_LIMIT,
  pagePlace,
  readCursor,
} from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { optional } from '../admin/schema.ts';
import type { Input } from '../admin/table.ts';
import { changesIn, type MemberChange } from '../data/changes.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type EventRow, eventTable, readActs, reasonOf, rowsOf, singleRows } from './event_rows.ts';
import { labelOfChange } from './forms.ts';
import { type ConsoleView, consoleFrame, partLinks, type Row, section, termList, urlOf } from './frame.ts';
import { type PageUrls, pageLinks, pagesAround } from './lists.ts';
import { namesOf } from './names.ts';
import { identifiersIn, type SentenceView, sentenceOf, TYPE_GROUPS } from './sentences.ts';
import { auditActs } from './upkeep_acts.ts';
import { ago, copied, identifier, termOf } from './values.ts';

/** Acts on a page, or events of one request. */
const ROWS_PER_PAGE = 50;

/** Events of a download, which is built in memory: a few megabytes. */
const DOWNLOADED = 10_000;

/** Maximum events to read for it, whether or not they fit. */
const READ_FOR_DOWNLOAD = 50_000;

/** The filters that are texts, in the order of the form. The first ones matter most. */
const TEXT_FILTERS = ['user', 'client', 'actor', 'target', 'address', 'request'] as const;

/** The filters that are times: a date, with or without a time of day, in UTC. */
const TIME_FILTERS = ['since', 'until'] as const;

/** The filters that are checkboxes. */
const CHECKS = ['changes', 'operators'] as const;

const FILTERS = ['type', ...CHECKS, ...TEXT_FILTERS, 'range', ...TIME_FILTERS] as const;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Spans up to now, by when they begin. */
const RANGES = {
  hour: (nowMs: number) => nowMs - 60 * MINUTE_MS,
  today: (nowMs: number) => nowMs - (nowMs % DAY_MS),
  yesterday: (nowMs: number) => nowMs - (nowMs % DAY_MS) - DAY_MS,
  week: (nowMs: number) => nowMs - 7 * DAY_MS,
} as const;

/** The filters of the form, as they are in the URL. Empty ones do not filter. */
type GivenFilters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** `GET /console/audit`: the newest events first, with the filters of `FILTERS`. With `event`, only that one. */
export async function showAudit(visit: Visit): Promise<Response> {
  const { c, setting, view } = visit;
  const number = c.req.query('event');
  if (number !== undefined) return renderPage(c, eventPage(await eventView(visit, number), setting));
  const filters = filtersIn(c.req.query());
  const { cursor = '' } = c.req.query();
  const order = {
    ...(await orderOf(visit, filters)),
    ...(cursor !== '' && { cursor }),
    limit: ROWS_PER_PAGE,
  };
  const { rows, page } = await rowsFor(visit, order, filters);
  const shown: AuditView = {
    ...{
      ...view,
      ...(await saying(
        visit,
        rows.map(({ event }) => event),
        filters.user,
      )),
      rows,
      filters,
    },
    ...(rows.length === 0 && filters.user !== '' && { isUnknownUser: !(await isUser(visit, filters.user)) }),
    pages: pagesAround(page, (to) => urlOf(view.base, 'audit', { ...filters, cursor: to })),
  };
  return renderPage(c, auditPage(shown, setting));
}

/** The rows of a page, one for each act. Of one request, there is a row for each event. */
async function rowsFor(
  { call, console: { partsOf }, session }: Visit,
  order: Input<'listAudit'>,
  filters: GivenFilters,
): Promise<{ readonly rows: readonly EventRow[]; readonly page: List<unknown> }> {
  if (filters.request !== '') {
    const page = await call('listAudit', order);
    return { rows: singleRows(page.items), page };
  }
  const parts = partsOf(session.person.subject);
  await requirePossible(parts, 'listAudit', order);
  const place = pagePlace({ ...optional('cursor', order.cursor) }, (at) => typeof at === 'number');
  const page = await readActs(parts, await filterFrom(parts, order), {
    ...{ most: ROWS_PER_PAGE, mostRead: MAX_EVENTS_READ },
    place: place && { ...place, at: Number(place.at) },
  });
  return { rows: await rowsOf(parts, page, filters), page };
}

/** Whether there is a user with this name or subject. */
async function isUser({ call }: Visit, typed: string): Promise<boolean> {
  if ((await call('listUsers', { username: typed })).items.length > 0) return true;
  try {
    await call('getUser', { sub: typed });
    return true;
  } catch (error) {
    if (error instanceof OperationRefused && error.kind === 'not_found') return false;
    throw error;
  }
}

/** What sentences about events need. @param subject of another user to name */
export async function saying(
  { console: { pages, partsOf, adminGroup }, session }: Visit,
  events: readonly AuditEventView[],
  subject = '',
): Promise<Pick<AuditView, 'names' | 'nowMs' | 'adminGroup'>> {
  const { subjects, ...others } = identifiersIn(events);
  const named = { ...others, subjects: subject === '' ? subjects : [...subjects, subject] };
  const names = await namesOf(partsOf(session.person.subject), named);
  return { names, nowMs: pages.clock(), adminGroup };
}

/** @throws {OperationRefused} there is no such event, or no longer */
async function eventView(visit: Visit, number: string): Promise<EventPageView> {
  const before = /^[1-9]\d{0,14}$/.test(number) ? Number(number) + 1 : undefined;
  const found = before && (await visit.call('listAudit', { cursor: cursorOf(before), limit: 1 })).items[0];
  if (!found || String(found.number) !== number)
    throw new OperationRefused('not_found', ['no_event', number]);
  return { ...visit.view, ...(await saying(visit, [found])), event: found };
}

/**
 * `GET /console/audit.jsonl`: the latest events of the same filters, one JSON object a line, the newest first. If there
 * may be more, the last line has the URL of the next file.
 */
export async function downloadAudit(visit: Visit): Promise<Response> {
  const {
    c,
    call,
    console: { issuer },
    view,
  } = visit;
  const filters = filtersIn(c.req.query());
  const order = await orderOf(visit, filters);
  const lines: object[] = [];
  let cursor = cursorIn(c.req.query('before'));
  let before: string | undefined;
  for (let read = 0; lines.length < DOWNLOADED && read + MAX_EVENTS_READ <= READ_FOR_DOWNLOAD; ) {
    const page = await call('listAudit', { ...order, ...cursor, limit: MAX_LIMIT });
    lines.push(...page.items);
    const first = Number(before ?? page.items[0]?.number ?? Number.POSITIVE_INFINITY);
    before = nextAfter(page);
    if (before === undefined) break;
    // Events have consecutive numbers. A page that skips blocks of them reads fewer.
    read += Math.min(MAX_EVENTS_READ, first - Number(before));
    cursor = cursorIn(before);
  }
  if (before !== undefined) {
    const url = new URL(downloadUrl(view.base, { ...filters, before }), issuer);
    lines.push({ truncated: true, next: url.href });
  }
  return c.body(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), 200, {
    'content-type': 'application/jsonl',
    'content-disposition': 'attachment; filename="audit.jsonl"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
}

/** The number of the event before the next ones. @returns `undefined` if there are none */
function nextAfter({ next_cursor: cursor }: { readonly next_cursor?: string }): string | undefined {
  return cursor === undefined ? undefined : String(readCursor(cursor)?.at);
}

function filtersIn(query: Readonly<Record<string, string>>): GivenFilters {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]?.trim() ?? ''])) as GivenFilters;
}

/** The events before one, by the number in a URL. */
function cursorIn(before = ''): { readonly cursor?: string } {
  return /^[1-9]\d{0,15}$/.test(before) ? { cursor: cursorOf(Number(before)) } : {};
}

/**
 * The filters as the operation takes them. It finds users by their names too.
 * @throws {InvalidInput} a value is malformed
 */
async function orderOf(
  visit: Visit,
  { type, changes, operators, user, client, request, range, since, until, ...others }: GivenFilters,
): Promise<Input<'listAudit'>> {
  const known = EVENT_TYPES.find((one) => one === type);
  if (type !== '' && known === undefined)
    throw new InvalidInput('type', ['event_type', JSON.stringify(type)]);
  const order = {
    ...{ ...others, type: known, subject: user, request_id: request },
    ...{ changes: changes === 'yes', operators: operators === 'yes' },
    client_id: client === '' ? '' : await clientNamed(visit, client),
    ...{ since: timeIn('since', since) ?? beginOf(range, visit), until: timeIn('until', until) },
  };
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value));
}

/** @throws {InvalidInput} there is no such span */
function beginOf(range: string, { console: { pages } }: Visit): string | undefined {
  if (range === '') return undefined;
  if (!isRange(range))
    throw new InvalidInput('range', ['range_form', Object.keys(RANGES).join(', '), JSON.stringify(range)]);
  return new Date(RANGES[range](pages.clock())).toISOString();
}

function isRange(text: string): text is keyof typeof RANGES {
  return Object.hasOwn(RANGES, text);
}

/** Clients whose name contains what was typed, at most. */
const CLIENTS_SEARCHED = 50;

/**
 * The client with an identifier or a name. Also an unknown identifier, because events outlive their clients.
 * @throws {InvalidInput} several clients have the name
 */
export async function clientNamed({ call }: Visit, typed: string): Promise<string> {
  const { items } = await call('listClients', { search: typed, limit: CLIENTS_SEARCHED });
  if (items.some(({ client_id: id }) => id === typed)) return typed;
  const named = items.filter(({ client_name: name }) => name?.toLowerCase() === typed.toLowerCase());
  if (named.length > 1) {
    const ids = named.map(({ client_id: id }) => id).join(', ');
    throw new InvalidInput('client', ['several_clients', ids]);
  }
  return named[0]?.client_id ?? typed;
}

function timeIn(name: string, text: string): string | undefined {
  if (text === '') return undefined;
  const isLocal = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/.test(text);
  const atMs = isLocal ? Date.parse(text.includes(':') ? `${text.replace(' ', 'T')}Z` : text) : Number.NaN;
  if (Number.isNaN(atMs)) throw new InvalidInput(name, ['time_form', JSON.stringify(text)]);
  return new Date(atMs).toISOString();
}

export interface AuditView extends ConsoleView, SentenceView {
  readonly base: string;
  readonly rows: readonly EventRow[];
  readonly filters: GivenFilters;
  readonly pages: PageUrls;
  /** Whether no user has the name or subject of the filter. Present if no event was found. */
  readonly isUnknownUser?: boolean;
}

/** `/console/audit`: fields of `FILTERS`, links `range-NAME`, `first`, `previous`, `next`, `all` and `download`. */
export function auditPage(view: AuditView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { audit: words, events: eventWords } = texts.console;
  const { base, rows, filters } = view;
  const isFiltered = FILTERS.some((name) => filters[name] !== '');
  const hasMore = [...TEXT_FILTERS.slice(2), ...TIME_FILTERS].some((name) => filters[name] !== '');
  const field = (name: (typeof TEXT_FILTERS)[number]) =>
    html`<div><label for="${name}">${words.filters[name]}</label>
<input id="${name}" name="${name}" value="${(name === 'user' ? view.names.user(filters.user) : undefined) ?? filters[name]}" maxlength="300" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
`;
  const { since: _, until: __, range, ...others } = filters;
  const ranges = (Object.keys(RANGES) as (keyof typeof RANGES)[]).map((name) => ({
    ...{ id: `range-${name}`, title: words.ranges[name] },
    url: urlOf(base, 'audit', { ...others, range: name }),
    isCurrent: name === range,
  }));
  return consoleFrame(view, setting, {
    title: texts.console.pages.audit,
    lead: words.lead,
    body: html`<form method="get" action="${urlOf(base, 'audit')}" role="search" class="filters" aria-label="${texts.console.pages.audit}">
<div><label for="type">${words.filters.type}</label>
<select id="type" name="type">
<option value="">${words.allTypes}</option>
${[...TYPE_GROUPS].map(
  ([group, types]) => html`<optgroup label="${eventWords.typeGroups[group]}">
${types.map((type) => html`<option value="${type}"${type === filters.type ? html` selected` : ''}>${eventWords.types[type]}</option>\n`)}</optgroup>\n`,
)}</select></div>
${TEXT_FILTERS.slice(0, 2).map(field)}<details${hasMore ? html` open` : ''}><summary>${words.more}</summary>
<div class="filters">
${TEXT_FILTERS.slice(2).map(field)}${TIME_FILTERS.map(
  (name) => html`<div><label for="${name}">${words.filters[name]}</label>
<input id="${name}" name="${name}" value="${filters[name]}" maxlength="40" autocomplete="off" spellcheck="false"></div>
`,
)}</div></details>
${CHECKS.map(
  (
    name,
  ) => html`<div class="check"><input id="${name}" name="${name}" type="checkbox" value="yes"${filters[name] === 'yes' ? html` checked` : ''}>
<label for="${name}">${words.checks[name]}</label></div>
`,
)}${range === '' ? '' : html`<input type="hidden" name="range" value="${range}">\n`}<div class="actions"><button id="search-submit" type="submit">${texts.console.search}</button>
${isFiltered ? html`<a id="all" class="button" href="${urlOf(base, 'audit')}">${words.all}</a>` : ''}</div>
</form>
${partLinks(words.ranges.label, ranges)}
${rows.length === 0 ? html`<p class="empty">${(view.pages.next ?? view.pages.previous) !== undefined ? texts.console.nothingYet : view.isUnknownUser === true ? words.noSuchUser(filters.user) : filters.request === '' ? texts.console.nothingFound : words.notInTrail(filters.request)}</p>` : eventTable(rows, view, texts)}
${pageLinks(view.pages, texts)}
${auditActs(view, texts)}
${
  rows.length === 0
    ? ''
    : html`<p class="note"><a id="download" href="${downloadUrl(base, filters)}" download="audit.jsonl">${words.download}</a> ${words.downloadText}</p>`
}`,
  });
}

function downloadUrl(base: string, parameters: Readonly<Record<string, string>>): string {
  const query = urlOf('', 'audit', parameters).slice('/audit'.length);
  return `${base}/audit.jsonl${query}`;
}

export interface EventPageView extends ConsoleView, SentenceView {
  readonly base: string;
  readonly event: AuditEventView;
}

/** The members of an event by which others are found. */
const MEMBERS = {
  type: 'type',
  target: 'target',
  actor: 'actor',
  subject: 'user',
  client_id: 'client',
  reason: undefined,
  address: 'address',
  request_id: 'request',
} as const;

/** One event: every member as it is stored, with links to the other events that have the value. */
export function eventPage(view: EventPageView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { audit: words } = texts.console;
  const { base, event, nowMs } = view;
  const changes = changesIn(event.type, event.reason);
  const rows = (Object.keys(MEMBERS) as (keyof typeof MEMBERS)[]).map((name): Row => {
    const value = name === 'reason' && changes !== undefined ? undefined : event[name];
    const filter = MEMBERS[name];
    const label = words.memberLabels[name];
    if (value === undefined || value === '') return [label, undefined];
    const shown = html`<code>${value}</code>`;
    const linked =
      filter === undefined
        ? shown
        : html`<a href="${urlOf(base, 'audit', { [filter]: value })}">${shown}</a>`;
    return [termOf(name, label), copied(value, texts, linked)];
  });
  const tokens = tokensOf(event).map(
    (id) => html`<a href="${urlOf(base, 'tokens', { id })}">${identifier(id)}</a> `,
  );
  return consoleFrame(view, setting, {
    title: words.number(String(event.number)),
    body: html`<p class="sentence">${sentenceOf(event, view, texts)}, ${ago(event.at, nowMs, texts)}.</p>
${reasonOf(event, texts)}
${changes === undefined ? '' : section('changes', words.changes, termList(changes.map((one) => changeRow(event.type, one, texts))))}
${section(
  'members',
  words.members,
  termList([
    [termOf('at', words.memberLabels.at), copied(event.at, texts, html`<code>${event.at}</code>`)],
    ...rows,
    [words.explainedTokens, tokens.length === 0 ? undefined : html`${tokens}`],
  ]),
)}
<p class="note">${words.membersText}</p>`,
  });
}

function changeRow(type: AuditEventView['type'], { member, values }: MemberChange, texts: Texts): Row {
  const { audit: words, forms } = texts.console;
  const label = labelOfChange(type, member, texts);
  const name =
    label === member ? html`<code>${member}</code>` : html`${label} <code class="raw">${member}</code>`;
  if (values === undefined) return [name, words.changed];
  const [before, after] = values.map((value) =>
    value === '' ? html`<em>${forms.nothing}</em>` : html`<code>${value}</code>`,
  );
  return [name, html`${before} → ${after}`];
}

/** The tokens that an event is about. */
function tokensOf({ type, target }: AuditEventView): readonly string[] {
  if (type === 'token_issued') return target.split(' ');
  return type === 'token_revoked' ? [target] : [];
}
