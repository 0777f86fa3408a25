// The audit trail, and the events that other programs follow.
import { EVENT_TYPES, type EventRecord } from '@grantd/core';
import {
  type AuditEvent,
  type AuditFilter,
  type AuditVerification,
  type ChainLink,
  withActor,
} from '../data/audit.ts';
import {
  DEFAULT_LIMIT,
  MAX_EVENTS_READ,
  type OperationParts,
  operation,
  PAGING,
  paged,
  placeOf,
  timeIn,
} from './operation.ts';
import { integer, named, object, oneOf, optional, page, text, time, timeOf, type ValueOf } from './schema.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const eventNumber = integer('The number of the event.', { minimum: 1 });
const eventType = oneOf(EVENT_TYPES, 'What happened.');
const happenedAt = time('When the change happened.');

const AUDIT_EVENT = named(
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
    'reason?': text('A code that says why or how the change happened.'),
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

const FILTER_TIME = time(undefined, { maxLength: 40 });
const FILTER = text(undefined, { minLength: 1, maxLength: 300 });
const TYPE = { schema: oneOf(EVENT_TYPES), about: 'Only events of this type.' };

/** An event as commands and downloads print it, too. */
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

type AuditParts = Pick<OperationParts, 'auditTrail'>;

/** A page of the audit trail. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** The number to go on with; `undefined` if all were read. */
  readonly next: number | undefined;
}

interface AuditLimits {
  /** Maximum events of the page. */
  readonly most: number;
  /** About how many events to read at most, whether or not they fit the filter. Default: all. */
  readonly mostRead?: number;
}

/**
 * Lists events, the newest first.
 * @param before only events before this number: `next` of the page before
 */
export async function auditBefore(
  { auditTrail }: AuditParts,
  before: number | undefined,
  filter: AuditFilter,
  { most, mostRead }: AuditLimits,
): Promise<AuditPage> {
  const found = auditTrail.before(before, filter, mostRead);
  const events: AuditEvent[] = [];
  for (;;) {
    const { done, value } = await found.next();
    if (done === true) return { events, next: value };
    if (events.length === most) {
      await found.return(undefined);
      return { events, next: events.at(-1)?.sequence };
    }
    events.push(value);
  }
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

export interface EventFilter {
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
export async function eventsAfter(
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
    query: {
      ...PAGING,
      type: TYPE,
      actor: { schema: FILTER, about: 'Only events by this actor, such as cli, user:SUBJECT or client:ID.' },
      target: {
        schema: FILTER,
        about:
          'Only events about the client, subject (user), key, session, grant, token or group with this ID.',
      },
      subject: { schema: FILTER, about: 'Only events that concern this user.' },
      client_id: { schema: FILTER, about: 'Only events that concern this client.' },
      address: { schema: FILTER, about: 'Only events of requests from this IP address.' },
      request_id: {
        schema: FILTER,
        about: 'Only events of the request with this ID, which its response had in the header X-Request-Id.',
      },
      since: { schema: FILTER_TIME, about: 'Only events at or after this time.' },
      until: { schema: FILTER_TIME, about: 'Only events before this time.' },
    },
    status: 200,
    output: AUDIT_EVENTS,
    async perform(parts, { limit = DEFAULT_LIMIT, cursor, since, until, ...query }) {
      const { client_id: clientId, request_id: requestId, ...named } = query;
      const filter: AuditFilter = {
        ...named,
        ...{ clientId, requestId },
        ...(since !== undefined && { sinceMs: timeIn('since', since) }),
        ...(until !== undefined && { untilMs: timeIn('until', until) }),
      };
      const place = placeOf({ ...optional('cursor', cursor) });
      const before = place === undefined ? undefined : Number(place);
      const most = { most: limit, mostRead: MAX_EVENTS_READ };
      const { events, next } = await auditBefore(parts, before, filter, most);
      return paged(events.map(auditEventView), next);
    },
  }),
};
