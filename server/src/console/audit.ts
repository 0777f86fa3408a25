import { EVENT_TYPES } from '@grantd/core';
import { html } from 'hono/html';
import { auditBefore, auditEventView } from '../admin/audit.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import type { AuditEvent, AuditFilter } from '../data/audit.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, consoleFrame, nextLink, timeOf, urlOf } from './frame.ts';

const EVENTS_PER_PAGE = 50;

/** Maximum events that one page reads. */
const MAX_EVENTS_READ = 20_000;

/** Limits of a download, which is built in memory: a few megabytes. */
const DOWNLOAD = { most: 10_000, mostRead: 50_000 };

/** The filters that are texts, in the order of the form. */
const TEXT_FILTERS = ['user', 'client', 'actor', 'target', 'address', 'request'] as const;

/** The filters that are times: a date, with or without a time of day, in UTC. */
const TIME_FILTERS = ['since', 'until'] as const;

const FILTERS = ['type', ...TEXT_FILTERS, ...TIME_FILTERS] as const;

/** The filters of the form, as they are in the URL. Empty ones do not filter. */
type GivenFilters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** `GET /console/audit`: the newest events first, with the filters of `FILTERS`. */
export async function showAudit({ c, parts, setting, view }: Visit): Promise<Response> {
  const filters = filtersIn(c.req.query());
  const { events, next } = await auditBefore(parts, numberIn(c.req.query('before')), filterOf(filters), {
    most: EVENTS_PER_PAGE,
    mostRead: MAX_EVENTS_READ,
  });
  const shown: AuditView = {
    ...view,
    ...{ events, filters },
    ...(next !== undefined && { next: urlOf(view.base, 'audit', { ...filters, before: String(next) }) }),
  };
  return renderPage(c, auditPage(shown, setting));
}

/**
 * `GET /console/audit.jsonl`: the latest events of the same filters, one JSON object a line, the newest first. If there
 * may be more, the last line has the URL of the next file.
 */
export async function downloadAudit({ c, parts, view }: Visit): Promise<Response> {
  const filters = filtersIn(c.req.query());
  const before = numberIn(c.req.query('before'));
  const { events, next } = await auditBefore(parts, before, filterOf(filters), DOWNLOAD);
  const lines: object[] = events.map(auditEventView);
  if (next !== undefined) {
    const url = new URL(downloadUrl(view.base, { ...filters, before: String(next) }), parts.issuer);
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

function numberIn(text = ''): number | undefined {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;
}

/** @throws {InvalidInput} a value is malformed */
function filterOf(given: GivenFilters): AuditFilter {
  const { type, user, client, actor, target, address, request } = given;
  const known = EVENT_TYPES.find((one) => one === type);
  if (type !== '' && known === undefined)
    throw new InvalidInput('type', `expected a type of event, got ${JSON.stringify(type)}`);
  return {
    type: known,
    subject: user || undefined,
    clientId: client || undefined,
    actor: actor || undefined,
    target: target || undefined,
    address: address || undefined,
    requestId: request || undefined,
    sinceMs: timeIn('since', given.since),
    untilMs: timeIn('until', given.until),
  };
}

function timeIn(name: string, text: string): number | undefined {
  if (text === '') return undefined;
  const isLocal = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/.test(text);
  const atMs = isLocal ? Date.parse(text.includes(':') ? `${text.replace(' ', 'T')}Z` : text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new InvalidInput(name, `expected a time such as 2026-01-31 12:00, got ${JSON.stringify(text)}`);
  return atMs;
}

export interface AuditView extends ConsoleView {
  readonly events: readonly AuditEvent[];
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
    body: html`<form method="get" action="${urlOf(base, 'audit')}" role="search" class="filters">
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
function eventRow(event: AuditEvent, base: string, texts: Texts): Html {
  const { sequence, atMs, type, target, actor, subject, clientId, address, reason, requestId } = event;
  const { names, by } = texts.console.audit;
  const link = (name: (typeof TEXT_FILTERS)[number], value: string) =>
    html`<a href="${urlOf(base, 'audit', { [name]: value })}"><bdi>${value}</bdi></a>`;
  const detail = (name: keyof typeof names, value: string | undefined) =>
    value === undefined || value === '' || value === target
      ? ''
      : html` <span>${names[name]}: ${link(name, value)}</span>`;
  return html`<li><code>${type}</code>${target === '' ? '' : html` ${link('target', target)}`}
<p class="detail"><span>${String(sequence)}</span> ${timeOf(atMs, texts) ?? ''} <span>${by(link('actor', actor))}</span>${reason === undefined || reason === '' ? '' : html` <code>${reason}</code>`}</p>
<p class="detail">${detail('user', subject)}${detail('client', clientId)}${detail('address', address)}${detail('request', requestId)}</p></li>
`;
}
