// Rows of events: what one request or command did is one row (ADR 226).
import { html } from 'hono/html';
import { type AuditEventView, auditEventView } from '../admin/audit.ts';
import { type AdminParts, cursorOf, type Page as List } from '../admin/operation.ts';
import { type Act, partsOfKind } from '../data/audit_acts.ts';
import type { AuditFilter } from '../data/audit_search.ts';
import { changesIn } from '../data/changes.ts';
import type { CountedKind } from '../texts/en/events.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { labelOfChange, rawName } from './forms.ts';
import { urlOf } from './frame.ts';
import { dataTable } from './lists.ts';
import { endingReasonOf, isReuse, type SentenceView, sentenceOf, sentenceOfAct } from './sentences.ts';
import { moment, reasonLine } from './values.ts';

/** Changed fields that a row names, at most. */
const FIELDS_IN_ROW = 3;

/** Events of a kind in an act. */
export interface KindCount {
  readonly kind: CountedKind;
  readonly count: number;
}

/** What one row shows: the events of an act, or failures of one user for one reason. */
export interface EventRow {
  /** The newest of those that matter most. */
  readonly event: AuditEventView;
  /** The first one is that of the event. */
  readonly kinds: readonly [KindCount, ...KindCount[]];
  /** When the oldest of several failures was. */
  readonly sinceAt?: string;
  /** Whether the act continues on another page. */
  readonly continues?: boolean;
  /** The filter that shows all of its events; empty if the row shows them. */
  readonly filter: Readonly<Record<string, string>>;
}

// ── What matters ──────────────────────────────────────────────────────────────────────────────────────────

/** Named first, in this order. An act has them among thousands of others that matter less. */
const IMPORTANT: readonly CountedKind[] = [
  ...(['administrator_made', 'administrator_removed', 'key_rotated', 'server_secret_rotated'] as const),
  ...(['server_secret_dropped', 'pairwise_secret_made', 'audit_restarted', 'issued_before_revoked'] as const),
  ...([
    'client_secret_rotated',
    'personal_token_made',
    'person_factors_reset',
    'person_password_set',
  ] as const),
  ...(['subject_disabled', 'subject_enabled', 'client_disabled', 'client_enabled'] as const),
  ...(['person_removed', 'client_removed', 'group_removed'] as const),
];

/** Named last: they follow from others. */
const CONSEQUENCES: ReadonlySet<CountedKind> = new Set([
  ...(['session_ended', 'session_revoked', 'subject_revoked', 'client_revoked', 'grant_revoked'] as const),
  ...(['token_revoked', 'family_revoked', 'exchanges_revoked', 'code_revoked', 'consent_withdrawn'] as const),
  ...([
    'group_member_added',
    'person_factor_removed',
    'group_member_removed',
    'person_unlinked',
    'mailed_link_made',
  ] as const),
]);

function rankOf(kind: CountedKind): number {
  const at = IMPORTANT.indexOf(kind);
  return at >= 0 ? at : IMPORTANT.length + (CONSEQUENCES.has(kind) ? 1 : 0);
}

function countedKind(kind: string, adminGroup: string | undefined): CountedKind {
  const [type, group] = partsOfKind(kind);
  if (group === undefined || group !== adminGroup) return type;
  return type === 'group_member_added' ? 'administrator_made' : 'administrator_removed';
}

/** The kinds of an act, those that matter most first. */
function kindsOf({ kinds }: Act, adminGroup: string | undefined) {
  const counted = Map.groupBy(kinds, ([kind]) => countedKind(kind, adminGroup));
  return [...counted]
    .map(([kind, found]) => ({
      kind,
      count: found.reduce((sum, [, { count }]) => sum + count, 0),
      newest: found.map(([, of]) => of).reduce((one, other) => (other.newest > one.newest ? other : one)),
    }))
    .toSorted((one, other) => rankOf(one.kind) - rankOf(other.kind) || other.count - one.count);
}

/** Whether an act made a user an administrator, or ended that. */
export function changesAdministrators(act: Act, adminGroup: string | undefined): boolean {
  const kind = kindsOf(act, adminGroup)[0]?.kind;
  return kind === 'administrator_made' || kind === 'administrator_removed';
}

// ── What is read ──────────────────────────────────────────────────────────────────────────────────────────

type TrailParts = Pick<AdminParts, 'auditTrail' | 'configuration'>;

export interface RowsWanted {
  /** Acts, at most. */
  readonly most: number;
  readonly mostRead: number;
  /** Default: the newest. */
  readonly place?: { readonly at: number; readonly isBefore: boolean } | undefined;
}

/**
 * A page of acts, the newest first, without the events that a filter leaves out.
 * @returns also the act within which the search has stopped
 */
export async function readActs(
  { auditTrail }: Pick<TrailParts, 'auditTrail'>,
  filter: AuditFilter,
  { most, mostRead, place }: RowsWanted,
): Promise<List<Act> & { readonly continues?: Act }> {
  const { acts, hasMore, stoppedAt } = await auditTrail.acts(place, filter, { most, mostRead });
  const [newest, oldest] = [acts[0], acts.at(-1)];
  const isBefore = place?.isBefore === true;
  // Where the next read in this direction begins, and where one in the other direction does.
  const onward = hasMore ? (stoppedAt ?? (isBefore ? newest?.last : oldest?.first)) : undefined;
  const back = place && (isBefore ? oldest?.first : newest?.last);
  const [next, previous] = isBefore ? [back, onward] : [onward, back];
  const last = isBefore ? newest : oldest;
  const isCut = last?.requestId !== undefined && stoppedAt === (isBefore ? last.last : last.first);
  return {
    items: acts,
    ...(next !== undefined && { next_cursor: cursorOf(next) }),
    ...(previous !== undefined && { previous_cursor: cursorOf(previous, true) }),
    ...(isCut && { continues: last }),
  };
}

/**
 * The rows of acts. Reads an event of each, if it was not read before. One that was removed meanwhile has no row.
 * @param filters those of the page, which may show the events of a row
 */
export async function rowsOf(
  { auditTrail, configuration }: TrailParts,
  { items, continues }: Awaited<ReturnType<typeof readActs>>,
  filters: Readonly<Record<string, string>> = {},
): Promise<readonly EventRow[]> {
  const { adminGroup } = configuration.settings;
  const rows = await Promise.all(
    items.map(async (act): Promise<readonly EventRow[]> => {
      const [first, ...others] = kindsOf(act, adminGroup);
      if (first === undefined) return [];
      const event = first.newest.event ?? (await auditTrail.byNumber(first.newest.newest));
      if (event === undefined) return [];
      const isAlone = act !== continues && first.count === 1 && others.length === 0;
      return [
        {
          event: auditEventView(event),
          kinds: [first, ...others],
          filter: isAlone || act.requestId === undefined ? {} : { request: act.requestId },
          ...(act === continues && { continues: true }),
        },
      ];
    }),
  );
  return withFailures(rows.flat(), filters);
}

/** A row for each event. */
export function singleRows(events: readonly AuditEventView[]): readonly EventRow[] {
  return events.map((event) => ({ event, kinds: [{ kind: event.type, count: 1 }], filter: {} }));
}

/** Puts failures of one user into one row that follow each other for the same reason. */
export function withFailures(
  rows: readonly EventRow[],
  filters: Readonly<Record<string, string>>,
): readonly EventRow[] {
  if (filters.user || filters.type) return rows;
  const found: EventRow[] = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last === undefined || !isSameFailure(last, row)) found.push(row);
    else {
      const { event, kinds } = last;
      const count = kinds[0].count + 1;
      found[found.length - 1] = {
        ...{ event, kinds: [{ kind: event.type, count }], sinceAt: row.event.at },
        filter: { user: event.subject ?? '', type: event.type },
      };
    }
  }
  return found;
}

function isSameFailure({ event: one, kinds }: EventRow, { event: other, kinds: others }: EventRow): boolean {
  return (
    one.type === 'sign_in_failed' &&
    other.type === one.type &&
    kinds.length + others.length === 2 &&
    others[0].count === 1 &&
    one.subject !== undefined &&
    one.subject === other.subject &&
    one.reason === other.reason
  );
}

// ── What is shown ─────────────────────────────────────────────────────────────────────────────────────────

/** A table of events as sentences, each with a link `event-NUMBER` to its page. */
export function eventTable(rows: readonly EventRow[], view: SentenceView, texts: Texts): Html {
  const { audit: words, pages } = texts.console;
  return dataTable(
    {
      name: pages.audit,
      heads: [
        { title: words.event },
        { title: words.memberLabels.at, size: 'small' },
        { title: words.memberLabels.type, size: 'large' },
        { title: words.eventNumber, size: 'small' },
      ],
      rows: rows.map((row) => ({ cells: eventCells(row, view, texts) })),
    },
    texts,
  );
}

function eventCells(row: EventRow, view: SentenceView, texts: Texts): readonly Html[] {
  const { number, at, type } = row.event;
  const { audit: words, events } = texts.console;
  const url = urlOf(view.base, 'audit', { event: String(number) });
  return [
    saidOf(row, view, texts),
    html`${moment(at, view.nowMs, texts)}`,
    html`${events.types[type]} ${rawName(type)}`,
    html`<a id="event-${String(number)}" href="${url}">${words.number(String(number))}</a>`,
  ];
}

/** What happened: the sentence of the event that matters most, or counts if there are several like it. */
function saidOf({ event, kinds, ...row }: EventRow, view: SentenceView, texts: Texts): Html {
  const { audit: words, events } = texts.console;
  const [{ count }, ...others] = kinds;
  const linked = (text: Html | string) =>
    html` <a href="${urlOf(view.base, 'audit', row.filter)}">${text}</a>`;
  const sentence = html`${sentenceOf(event, view, texts)}${changedFields(event, texts)}`;
  const reason = reasonOf(event, texts);
  if (row.sinceAt !== undefined) {
    const times = words.timesSince(texts.formats.number(count), moment(row.sinceAt, view.nowMs, texts));
    return html`${sentence}${linked(times)}${reason}`;
  }
  if (row.filter.request === undefined) return html`${sentence}${reason}`;
  const isNamed = count === 1;
  const did = isNamed ? sentence : sentenceOfAct(event, countsOf(kinds, texts), view, texts);
  const also = isNamed && others.length > 0 ? ` ${events.also(countsOf(others, texts))}` : '';
  const continues = row.continues === true ? ` ${words.actContinues}` : '';
  // Its events are too many to look for the users whom the row does not name.
  const administrators =
    !isNamed && kinds[0].kind === 'administrator_made'
      ? html` <a href="${urlOf(view.base, 'users', { group: view.adminGroup })}">${texts.console.badges.administrators}</a>`
      : '';
  return html`${did}.${also}${continues}${administrators}${linked(words.allOfAct)}${isNamed ? reason : ''}`;
}

function countsOf(kinds: readonly KindCount[], { console: { events }, formats }: Texts): string {
  return formats.list(kinds.map(({ kind, count }) => events.counts[kind](count)));
}

/** The fields that an event of a change names. */
function changedFields({ type, reason }: AuditEventView, texts: Texts): Html | '' {
  const fields = changesIn(type, reason)?.map(({ member }) => labelOfChange(type, member, texts)) ?? [];
  if (fields.length === 0) return '';
  const more = fields.length - FIELDS_IN_ROW;
  const named = fields.slice(0, FIELDS_IN_ROW);
  return html`: ${texts.formats.list(more > 0 ? [...named, texts.console.audit.moreFields(more)] : named)}`;
}

/** Why a sign-in failed, or what was used again, in words and as a code; nothing for events whose sentences say it. */
export function reasonOf(event: AuditEventView, texts: Texts): Html | '' {
  if (isReuse(event)) return reasonLine(endingReasonOf(event) ?? '', texts);
  const { type, reason = '' } = event;
  return type === 'sign_in_failed' || type === 'audit_restarted' ? reasonLine(reason, texts) : '';
}
