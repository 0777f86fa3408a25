import { EVENT_TYPES } from '@grantd/core';
import { html } from 'hono/html';
import type { AuditEventView } from '../admin/audit.ts';
import { cursorOf, MAX_EVENTS_READ, MAX_LIMIT } from '../admin/operation.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import type { Input } from '../admin/table.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, consoleFrame, nextLink, timeOf, urlOf } from './frame.ts';
import { nextAfter } from './lists.ts';

const EVENTS_PER_PAGE = 50;

/** Events of a download, which is built in memory: a few megabytes. */
const DOWNLOADED = 10_000;

/** Maximum events to read for it, whether or not they fit. */
const READ_FOR_DOWNLOAD = 50_000;

/** The filters that are texts, in the order of the form. */
const TEXT_FILTERS = ['user', 'client', 'actor', 'target', 'address', 'request'] as const;

/** The filters that are times: a date, with or without a time of day, in UTC. */
const TIME_FILTERS = ['since', 'until'] as const;

const FILTERS = ['type', ...TEXT_FILTERS, ...TIME_FILTERS] as const;

/** The filters of the form, as they are in the URL. Empty ones do not filter. */
type GivenFilters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** `GET /console/audit`: the newest events first, with the filters of `FILTERS`. */
export async function showAudit({ c, call, setting, view }: Visit): Promise<Response> {
  const filters = filtersIn(c.req.query());
  const order = { ...orderOf(filters), ...cursorIn(c.req.query('before')), limit: EVENTS_PER_PAGE };
  const page = await call('listAudit', order);
  const before = nextAfter(page);
  const shown: AuditView = {
    ...{ ...view, events: page.items, filters },
    ...(before !== undefined && { next: urlOf(view.base, 'audit', { ...filters, before }) }),
  };
  return renderPage(c, auditPage(shown, setting));
}

/**
 * `GET /console/audit.jsonl`: the latest events of the same filters, one JSON object a line, the newest first. If there
 * may be more, the last line has the URL of the next file.
 */
export async function downloadAudit({ c, call, console: { issuer }, view }: Visit): Promise<Response> {
  const filters = filtersIn(c.req.query());
  const lines: object[] = [];
  let cursor = cursorIn(c.req.query('before'));
  let before: string | undefined;
  for (let read = 0; lines.length < DOWNLOADED && read + MAX_EVENTS_READ <= READ_FOR_DOWNLOAD; ) {
    const page = await call('listAudit', { ...orderOf(filters), ...cursor, limit: MAX_LIMIT });
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

function filtersIn(query: Readonly<Record<string, string>>): GivenFilters {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]?.trim() ?? ''])) as GivenFilters;
}

function cursorIn(before = ''): { readonly cursor?: string } {
  return /^[1-9]\d{0,15}$/.test(before) ? { cursor: cursorOf(Number(before)) } : {};
}

/** The filters as the operation takes them. @throws {InvalidInput} a value is malformed */
function orderOf({ type, user, client, request, since, until, ...others }: GivenFilters): Input<'listAudit'> {
  const known = EVENT_TYPES.find((one) => one === type);
  if (type !== '' && known === undefined)
    throw new InvalidInput('type', `expected a type of event, got ${JSON.stringify(type)}`);
  const order = {
    ...{ ...others, type: known, subject: user, client_id: client, request_id: request },
    ...{ since: timeIn('since', since), until: timeIn('until', until) },
  };
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value));
}

function timeIn(name: string, text: string): string | undefined {
  if (text === '') return undefined;
  const isLocal = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/.test(text);
  const atMs = isLocal ? Date.parse(text.includes(':') ? `${text.replace(' ', 'T')}Z` : text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new InvalidInput(name, `expected a time such as 2026-01-31 12:00, got ${JSON.stringify(text)}`);
  return new Date(atMs).toISOString();
}

export interface AuditView extends ConsoleView {
  readonly events: readonly AuditEventView[];
  readonly filters: GivenFilters;
  /** URL of earlier events. */
  readonly next?: string;
}

/** `/console/audit`: fields of `FILTERS`, links `next`, `all` and `download`. */
export function auditPage(view: AuditView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { audit: words } = texts.console;
  const { base, events, filters } = view;
  const isFiltered = FILTERS.some((name) => filters[name] !== '');
  const hasMore = [...TEXT_FILTERS.slice(2), ...TIME_FILTERS].some((name) => filters[name] !== '');
  const field = (name: (typeof TEXT_FILTERS)[number]) =>
    html`<div><label for="${name}">${words.filters[name]}</label>
<input id="${name}" name="${name}" value="${filters[name]}" maxlength="300" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
`;
  return consoleFrame(view, setting, {
    title: texts.console.pages.audit,
    lead: words.lead,
    body: html`<form method="get" action="${urlOf(base, 'audit')}" role="search" class="filters" aria-label="${texts.console.pages.audit}">
<div><label for="type">${words.filters.type}</label>
<select id="type" name="type">
<option value="">${words.allTypes}</option>
${EVENT_TYPES.map((type) => html`<option${type === filters.type ? html` selected` : ''}>${type}</option>\n`)}</select></div>
${TEXT_FILTERS.slice(0, 2).map(field)}<details${hasMore ? html` open` : ''}><summary>${words.more}</summary>
<div class="filters">
${TEXT_FILTERS.slice(2).map(field)}${TIME_FILTERS.map(
  (name) => html`<div><label for="${name}">${words.filters[name]}</label>
<input id="${name}" name="${name}" value="${filters[name]}" maxlength="40" autocomplete="off" spellcheck="false"></div>
`,
)}</div></details>
<div class="actions"><button id="search-submit" type="submit">${texts.console.search}</button>
${isFiltered ? html`<a id="all" class="button" href="${urlOf(base, 'audit')}">${words.all}</a>` : ''}</div>
</form>
${
  events.length === 0
    ? html`<p class="empty">${texts.console.nothingFound}</p>`
    : html`<ul class="rows" role="list">
${events.map((event) => eventRow(event, base, texts))}</ul>`
}
${nextLink(view.next, texts)}
${
  events.length === 0
    ? ''
    : html`<p class="note"><a id="download" href="${downloadUrl(base, filters)}" download="audit.jsonl">${words.download}</a> ${words.downloadText}</p>`
}`,
  });
}

function downloadUrl(base: string, parameters: Readonly<Record<string, string>>): string {
  const query = urlOf('', 'audit', parameters).slice('/audit'.length);
  return `${base}/audit.jsonl${query}`;
}

/** Each value leads to the events that have it, too. */
function eventRow(event: AuditEventView, base: string, texts: Texts): Html {
  const { number, at, type, target, actor, subject, address, reason } = event;
  const { client_id: clientId, request_id: requestId } = event;
  const { names, by } = texts.console.audit;
  const link = (name: (typeof TEXT_FILTERS)[number], value: string) =>
    html`<a href="${urlOf(base, 'audit', { [name]: value })}"><bdi>${value}</bdi></a>`;
  const detail = (name: keyof typeof names, value: string | undefined) =>
    value === undefined || value === '' || value === target
      ? ''
      : html` <span>${names[name]}: ${link(name, value)}</span>`;
  return html`<li><code>${type}</code>${target === '' ? '' : html` ${link('target', target)}`}
<p class="detail"><span>${String(number)}</span> ${timeOf(at, texts) ?? ''} <span>${by(link('actor', actor))}</span>${reason === undefined || reason === '' ? '' : html` <code>${reason}</code>`}</p>
<p class="detail">${detail('user', subject)}${detail('client', clientId)}${detail('address', address)}${detail('request', requestId)}</p></li>
`;
}
