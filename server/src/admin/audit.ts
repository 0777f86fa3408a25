// The audit trail, and the events that other programs follow.
import { EVENT_TYPES, type EventRecord } from '@grantd/core';
import type { AuditVerification } from '../data/audit.ts';
import type { ChainLink } from '../data/audit_chain.ts';
import { type AuditEvent, type AuditFilter, withActor } from '../data/audit_search.ts';
import { askStorage } from '../data/tables.ts';
import { ocsfOf } from './ocsf.ts';
import {
  type AdminParts,
  change,
  DEFAULT_LIMIT,
  MAX_EVENTS_READ,
  type OperationParts,
  operation,
  PAGING,
  pageAt,
  paged,
  pagePlace,
  placeOf,
  stream,
  timeIn,
} from './operation.ts';
import { InvalidInput } from './operation_refused.ts';
import {
  count,
  flag,
  integer,
  list,
  named,
  object,
  oneOf,
  optional,
  page,
  type Schema,
  text,
  time,
  timeOf,
  type ValueOf,
} from './schema.ts';
import { Warning, type WarningSaid } from './warning.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const eventNumber = integer('The number of the event.', { minimum: 1 });
const eventType = oneOf(EVENT_TYPES, 'What happened.');
const happenedAt = time('When the change happened.');

export const AUDIT_EVENT = named(
  'AuditEvent',
  object({
    number: eventNumber,
    at: happenedAt,
    type: eventType,
    target: text(
      'The ID of what changed: a client, subject (user), key, session, grant, token or group. If several tokens were issued together, it is all their IDs, separated by spaces.',
    ),
    actor: text(
      'Who made the change, such as cli, server, user:SUBJECT or client:ID. For a client of the admin API, it is api: and the percent-encoded client ID.',
    ),
    'address?': text('The IP address of the request.'),
    'client_id?': text('The client that the event concerns.'),
    'subject?': text('The user that the event concerns.'),
    'reason?': text(
      'A code that says why or how the change happened. Of an event such as client_changed, a JSON object: each changed member with a list of the value before and after, which is empty if events do not keep the values.',
    ),
    'request_id?': text('The ID of the request, which its response has in the header X-Request-Id.'),
  }),
);
export type AuditEventView = ValueOf<typeof AUDIT_EVENT>;
const AUDIT_EVENTS = page('AuditEvents', AUDIT_EVENT);

const EVENT = named(
  'Event',
  object({
    number: eventNumber,
    at: happenedAt,
    type: eventType,
    target: text('The ID of what changed: a client, subject (user), key, session, grant, token or group.'),
    'actor?': text(
      'Who made the change, such as cli or user. For a client of the admin API, it is api: and the percent-encoded client ID.',
    ),
    'subject?': text('The user that the event concerns.'),
  }),
);
export type EventView = ValueOf<typeof EVENT>;
const EVENTS = page('Events', EVENT);

/** A link of the chain, as commands print it. */
const chainLink = text('The number of an event, a colon, and the hash of the chain up to it.', {
  pattern: '^\\d{1,15}:[A-Za-z0-9_-]{43}$',
});
const PROBLEM = object({
  problem: oneOf(
    [
      ...(['head_missing', 'head_not_authentic', 'rows_changed', 'index_changed'] as const),
      ...(['rows_before_beginning', 'expected_removed', 'not_as_expected'] as const),
    ],
    'What is wrong.',
  ),
  'from?': integer('The number of the first event that is concerned.', {}),
  'to?': integer('The number of the last event that is concerned.', {}),
  'rows?': count('Number of events that were added before the first one.'),
  'sequence?': integer('The number of the event in the expected head.', {}),
  'beginning?': integer('The number of the last event that was removed for its age.', {}),
});
const verification = {
  events: count('Number of events that were checked.'),
  'head?': chainLink,
} as const;
const VERIFICATION = named(
  'AuditVerification',
  object({ ...verification, problems: list(PROBLEM, 'What is wrong. Empty if nothing is.') }),
);
const VERIFICATION_ORDER = named(
  'AuditVerificationOrder',
  object({ 'expect?': text('The head of an earlier verification, which the chain must continue.') }),
);
const RESTART = named(
  'AuditRestart',
  object({ reason: text('The reason. The audit trail records it.', { minLength: 1, maxLength: 200 }) }),
);
const RESTARTED = named(
  'RestartedAudit',
  object({
    begun_at: time('When the new chain began.'),
    ...verification,
    problems_before: list(PROBLEM, 'What was wrong before.'),
  }),
);
const EXPORTED_EVENT: Schema<object> = {
  type: 'object',
  description: 'An AuditEvent, or with the format ocsf an object of the Open Cybersecurity Schema Framework.',
};

const FILTER_TIME = time(undefined, { maxLength: 40 });
const FILTER = text(undefined, { minLength: 1, maxLength: 300 });
const TYPE = { schema: oneOf(EVENT_TYPES), about: 'Only events of this type.' };

const FILTERS = {
  type: TYPE,
  changes: {
    schema: flag(),
    about: 'Whether to leave out events that change nothing, such as sign-ins and issued tokens.',
  },
  operators: {
    schema: flag(),
    about:
      'Whether to leave out what users and clients do themselves. The events by operators and those about the server itself, such as key_rotated, remain.',
  },
  actor: { schema: FILTER, about: 'Only events by this actor, such as cli, user:SUBJECT or client:ID.' },
  target: {
    schema: FILTER,
    about: 'Only events about the client, subject (user), key, session, grant, token or group with this ID.',
  },
  subject: {
    schema: FILTER,
    about:
      'Only events that concern this user: a subject identifier, or the username as it is now. For usernames, the access token also needs the scope grantd:users:read.',
  },
  client_id: { schema: FILTER, about: 'Only events that concern this client.' },
  address: { schema: FILTER, about: 'Only events of requests from this IP address.' },
  request_id: {
    schema: FILTER,
    about: 'Only events of the request with this ID, which its response had in the header X-Request-Id.',
  },
  since: { schema: FILTER_TIME, about: 'Only events at or after this time.' },
  until: { schema: FILTER_TIME, about: 'Only events before this time.' },
};

const FILTER_FLAGS = {
  type: { about: 'only events of this type, such as client_changed' },
  changes: { about: 'leave out events that change nothing, such as sign-ins and issued tokens' },
  operators: {
    about: 'only events by operators, and those about the server itself, such as key_rotated',
  },
  actor: {},
  target: { placeholder: 'ID' },
  subject: {
    about: 'only events that concern the user with this name or subject identifier',
    placeholder: 'USER',
  },
  client_id: { flag: 'client', placeholder: 'ID' },
  address: { placeholder: 'IP' },
  request_id: { placeholder: 'ID' },
  since: {},
  until: {},
} as const;

type Filters = { readonly [Name in keyof typeof FILTERS]?: ValueOf<(typeof FILTERS)[Name]['schema']> };

/** @throws {InvalidInput} a time is none */
export async function filterFrom(
  parts: Pick<AdminParts, 'people' | 'caller'>,
  { since, until, client_id: clientId, request_id: requestId, subject, ...others }: Filters,
): Promise<AuditFilter> {
  return {
    ...others,
    ...(subject !== undefined && { subject: await subjectNamed(parts, subject) }),
    ...{ clientId, requestId },
    ...(since !== undefined && { sinceMs: timeIn('since', since) }),
    ...(until !== undefined && { untilMs: timeIn('until', until) }),
  };
}

/** The subject identifier of a user, also of a removed one, whose name another user may have got. */
async function subjectNamed({ people, caller }: Pick<AdminParts, 'people' | 'caller'>, typed: string) {
  if (!caller.has(['grantd:users:read']) || (await people.isSubject(typed))) return typed;
  return (await people.byName(typed))?.subject ?? typed;
}

/** @returns `undefined` if the text is no number of an event */
function eventNumberIn(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** @throws {InvalidInput} the text is no link of a chain */
function linkIn(typed: string | undefined): ChainLink | undefined {
  if (typed === undefined) return undefined;
  const [, sequence, hash] = /^(\d{1,15}):([\w-]{43})$/.exec(typed) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new InvalidInput('expect', ['head_form', JSON.stringify(typed)]);
  return { sequence: Number(sequence), hash };
}

function verificationView({ events, head, problems }: AuditVerification): ValueOf<typeof VERIFICATION> {
  return { events, ...optional('head', head && `${head.sequence}:${head.hash}`), problems };
}

/** What is wrong with the chain. */
export function problemSaid({
  problem,
  from,
  to,
  rows,
  sequence,
  beginning,
}: ValueOf<typeof PROBLEM>): WarningSaid {
  switch (problem) {
    case 'head_not_authentic':
    case 'head_missing':
      return [problem];
    case 'rows_changed':
    case 'index_changed':
      return [problem, String(from), String(to)];
    case 'rows_before_beginning':
      return [problem, String(rows)];
    case 'expected_removed':
      return [problem, String(sequence), String(beginning)];
    case 'not_as_expected':
      return [problem, String(sequence)];
  }
}

function inWords(problem: ValueOf<typeof PROBLEM>): string {
  return String(new Warning(...problemSaid(problem)));
}

export function auditEventView({
  sequence,
  atMs,
  type,
  target,
  actor,
  ...event
}: AuditEvent): AuditEventView {
  return {
    ...{ number: sequence, at: timeOf(atMs), type, target, actor },
    ...optional('subject', event.subject),
    ...optional('address', event.address),
    ...optional('client_id', event.clientId),
    ...optional('reason', event.reason),
    ...optional('request_id', event.requestId),
  };
}

function eventView({ sequence, atMs, type, target, actor, subject }: EventRecord): EventView {
  return {
    ...{ number: sequence, at: timeOf(atMs), type, target },
    ...optional('actor', actor),
    ...optional('subject', subject),
  };
}

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

/** The first events of a search. @returns also where the search stopped, if it did before it had found so many */
export async function firstOf(
  found: AsyncGenerator<AuditEvent, number | undefined, void>,
  most: number,
): Promise<{ readonly events: readonly AuditEvent[]; readonly stoppedAt?: number | undefined }> {
  const events: AuditEvent[] = [];
  while (events.length < most) {
    const { done, value } = await found.next();
    if (done === true) return { events, stoppedAt: value };
    events.push(value);
  }
  await found.return(undefined);
  return { events };
}

/**
 * Chains the latest events and checks all of them. Begins no chain: a missing one is a problem.
 * @param expected a link that an earlier verification has returned
 */
export async function verifyAudit(
  { auditTrail, secret }: Pick<OperationParts, 'auditTrail' | 'secret'>,
  expected?: ChainLink,
): Promise<AuditVerification> {
  const key = secret();
  await auditTrail.sealIfSound(key);
  return auditTrail.verify(key, expected);
}

interface EventFilter {
  readonly type?: string | undefined;
  readonly target?: string | undefined;
}

/** Events per read. */
const PAGE_SIZE = 1000;

interface EventLimits {
  /** Maximum events to return. Default: all. */
  readonly most?: number;
  /** Maximum events to read, whether or not they fit the filter. Default: all. */
  readonly mostRead?: number;
}

interface EventPage {
  readonly events: readonly EventRecord[];
  /** The number after which to go on; `undefined` if all were read. */
  readonly next: number | undefined;
}

/** Reads events in order, from one after a number. */
async function eventsAfter(
  { storage }: Pick<OperationParts, 'storage'>,
  after: number,
  { type, target }: EventFilter,
  { most = Number.POSITIVE_INFINITY, mostRead = Number.POSITIVE_INFINITY }: EventLimits = {},
): Promise<EventPage> {
  const found: EventRecord[] = [];
  for (let [last, read] = [after, 0]; ; ) {
    const events = await storage.eventsAfter(last, PAGE_SIZE);
    for (const event of events) {
      if ((type ?? event.type) === event.type && (target ?? event.target) === event.target)
        found.push(withActor(event));
      last = event.sequence;
      if (found.length >= most) return { events: found, next: last };
    }
    read += events.length;
    if (events.length < PAGE_SIZE) return { events: found, next: undefined };
    if (read >= mostRead) return { events: found, next: last };
  }
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

export const AUDIT_OPERATIONS = {
  listEvents: operation({
    method: 'GET',
    path: '/events',
    scope: 'grantd:events:read',
    summary: 'List events, the oldest first. Each event records a change of a client, user, key or token',
    query: {
      ...PAGING,
      type: TYPE,
      target: {
        schema: FILTER,
        about: 'Only events about the client, subject (user), key, session, grant or token with this ID.',
      },
    },
    status: 200,
    output: EVENTS,
    command: {
      line: 'events list',
      about: 'list all stored events, the oldest first',
      flags: {
        type: { about: 'only events of this type, such as client_changed' },
        target: {
          about: 'only events about the client, subject, key, session, grant or token with this identifier',
          placeholder: 'ID',
        },
      },
      pages: {
        begin: {
          flag: 'after',
          about: 'only events with larger numbers than this one',
          placeholder: 'NUMBER',
          place: eventNumberIn,
        },
      },
      notes: `These are the events of grantd audit list, in the other order and without paging. Use this command in a program that
follows changes: it passes the number of the last event that it has seen with --after. To look for something, use grantd
audit list: it filters by user, client, actor, address and time, and prints the newest events first.

  grantd events list --after 120 --type person_removed --json`,
      columns: {
        NUMBER: ({ number }) => String(number),
        AT: ({ at }) => at,
        TYPE: ({ type }) => type,
        TARGET: ({ target }) => target,
        ACTOR: ({ actor = '' }) => actor,
      },
    },
    async perform(parts, { limit = DEFAULT_LIMIT, cursor, type, target }) {
      const most = { most: limit, mostRead: MAX_EVENTS_READ };
      const after = Number(placeOf({ ...optional('cursor', cursor) }) ?? 0);
      const { events, next } = await eventsAfter(parts, after, { type, target }, most);
      return paged(events.map(eventView), next);
    },
  }),
  listAudit: operation({
    method: 'GET',
    path: '/audit',
    scope: 'grantd:events:read',
    summary: 'List events of the audit trail, the newest first',
    query: { ...PAGING, ...FILTERS },
    status: 200,
    output: AUDIT_EVENTS,
    command: {
      line: 'audit list',
      about: 'list events, the newest first',
      flags: FILTER_FLAGS,
      pages: {
        begin: {
          flag: 'before',
          about: 'only events with smaller numbers than this one',
          placeholder: 'NUMBER',
          place: eventNumberIn,
        },
        limit: { about: 'maximum number of events to print', byDefault: 100 },
      },
      notes: `Use this command to look for something. In a program that follows changes, use grantd events list --after NUMBER, which
prints the same events in the order in which they happened.

  grantd audit list --subject alice --since 2026-01-31
  grantd audit list --type sign_in_failed --address 192.0.2.7 --json`,
      columns: {
        NUMBER: ({ number }) => String(number),
        AT: ({ at }) => at,
        TYPE: ({ type }) => type,
        TARGET: ({ target }) => target,
        ACTOR: ({ actor }) => actor,
        CLIENT: ({ client_id: clientId = '' }) => clientId,
        SUBJECT: ({ subject = '' }) => subject,
        ADDRESS: ({ address = '' }) => address,
        REASON: ({ reason = '' }) => reason,
      },
    },
    async perform(parts, { limit = DEFAULT_LIMIT, cursor, ...filters }) {
      const filter = await filterFrom(parts, filters);
      const place = pagePlace({ ...optional('cursor', cursor) }, (at) => typeof at === 'number');
      const number = place && Number(place.at);
      const { auditTrail } = parts;
      const found =
        number !== undefined && place?.isBefore
          ? auditTrail.after(number, filter, MAX_EVENTS_READ)
          : auditTrail.before(number, filter, MAX_EVENTS_READ);
      const { events, stoppedAt } = await firstOf(found, limit + 1);
      return pageAt(events, { limit, place, stoppedAt }, ({ sequence }) => sequence, auditEventView);
    },
  }),
  verifyAudit: change({
    method: 'POST',
    path: '/audit/verify',
    scope: 'grantd:events:read',
    summary: 'Check that no event of the audit trail was changed or removed since it was recorded',
    body: VERIFICATION_ORDER,
    isBodyOptional: true,
    status: 200,
    output: VERIFICATION,
    command: {
      line: 'audit verify',
      about: 'check that no event was changed or removed since it was recorded',
      flags: {
        expect: {
          about:
            'also check that the trail still contains this event. Pass the head that an earlier grantd audit verify printed',
          placeholder: 'NUMBER:HASH',
        },
      },
      fails: ({ problems }) => problems.length > 0,
      lines: ({ events, head, problems }) => [
        problems.length === 0 ? `all ${events} events are as they were recorded` : `checked ${events} events`,
        ...(head === undefined ? [] : [`head: ${head}`]),
        ...problems.map(inWords),
      ],
    },
    checks: ({ expect }) => [() => void linkIn(expect)],
    prepare: async (_, { expect }) => linkIn(expect),
    write: async (parts, expected) => ({ document: verificationView(await verifyAudit(parts, expected)) }),
  }),
  restartAudit: change({
    method: 'POST',
    path: '/audit/restart',
    scope: 'grantd:events:write',
    summary:
      'Accept all events of the audit trail as they are now, and begin a new chain of hashes over them. Do it after a check has failed and you know why',
    body: RESTART,
    status: 200,
    output: RESTARTED,
    command: {
      line: 'audit restart',
      about:
        'accept all events as they are now, and begin a new chain of hashes over them. Run it after grantd audit verify has failed and you know why',
      flags: {
        reason: { about: 'reason for the new chain. The audit trail records it', placeholder: 'TEXT' },
      },
      lines: ({ begun_at: begunAt, events, head }) => [
        `a new chain begins, at ${begunAt}, over ${events} events`,
        `head: ${head}`,
      ],
    },
    prepare: async ({ auditTrail, secret }) => (await auditTrail.verify(secret())).problems,
    async write(parts, problems, { reason }) {
      const { auditTrail, storage, caller } = parts;
      await askStorage(() =>
        storage.recordAct({ type: 'audit_restarted', target: '', actor: caller.actor, reason }),
      );
      await auditTrail.restart(parts.secret());
      const { events, head } = verificationView(await auditTrail.verify(parts.secret()));
      const begunAt = timeOf(parts.clock());
      return {
        document: { begun_at: begunAt, events, ...optional('head', head), problems_before: problems },
      };
    },
  }),
};

/** Events between two questions whether the caller may still read. */
const EVENTS_PER_QUESTION = 1000;

export const AUDIT_STREAMS = {
  exportAudit: stream({
    method: 'GET',
    path: '/exports/audit',
    scope: 'grantd:events:read',
    summary:
      'Export events of the audit trail, the oldest first, as one JSON object per line. To check that none was changed or removed, verify the audit trail',
    query: {
      ...FILTERS,
      after: {
        schema: integer(undefined, { minimum: 0 }),
        about: 'Only events with larger numbers than this one. Default: 0.',
      },
      format: {
        schema: oneOf(['jsonl', 'ocsf']),
        about: 'The format: jsonl, or ocsf for the Open Cybersecurity Schema Framework. Default: jsonl.',
      },
    },
    status: 200,
    line: EXPORTED_EVENT,
    command: {
      line: 'audit export',
      about:
        'print events, the oldest first, with one JSON object per line. To check that none was changed or removed, run grantd audit verify',
      flags: { ...FILTER_FLAGS, after: { placeholder: 'NUMBER' }, format: {} },
    },
    async stream(parts, { after = 0, format, ...filters }, _, write) {
      let read = 0;
      const filter = await filterFrom(parts, filters);
      for await (const event of parts.auditTrail.after(after, filter)) {
        if (++read % EVENTS_PER_QUESTION === 0) await parts.requireCaller();
        await write(format === 'ocsf' ? ocsfOf(event, parts.issuer) : auditEventView(event));
      }
    },
  }),
};
