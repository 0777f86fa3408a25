import type { EventRecord } from '@grantd/core';
import { withActor } from '../data/audit.ts';
import type { OperationParts } from './operation.ts';

export interface EventFilter {
  readonly type?: string | undefined;
  readonly target?: string | undefined;
}

/** Events per read. */
const PAGE_SIZE = 1000;

/** A page of events, the newest first. */
interface LatestEvents {
  readonly events: readonly EventRecord[];
  /** The number before which to go on; `undefined` if all were read. */
  readonly next: number | undefined;
}

/** Beyond every number of an event. */
const BEYOND = 2 ** 52;

/** Reads events, the newest first, from the last one before a number. */
export async function eventsBefore(
  { storage }: Pick<OperationParts, 'storage'>,
  before: number | undefined,
  { type, target }: EventFilter,
  { most = 100, mostRead = Number.POSITIVE_INFINITY }: EventLimits = {},
): Promise<LatestEvents> {
  const found: EventRecord[] = [];
  let end = Math.min(before ?? BEYOND, BEYOND);
  for (let read = 0; read < mostRead; ) {
    const last = await lastBefore(storage, end);
    if (last === undefined) return { events: found, next: undefined };
    // Numbers are whole, so that there are at most this many events.
    const from = Math.max(0, last - PAGE_SIZE);
    const events = (await storage.eventsAfter(from, PAGE_SIZE)).filter(({ sequence }) => sequence <= last);
    for (const event of events.toReversed()) {
      if ((type ?? event.type) === event.type && (target ?? event.target) === event.target)
        found.push(withActor(event));
      if (found.length >= most) return { events: found, next: event.sequence };
    }
    read += events.length;
    end = from + 1;
  }
  return { events: found, next: end };
}

/** The number of the last event before a number, by halves: numbers can have gaps of a billion. */
async function lastBefore(storage: OperationParts['storage'], end: number): Promise<number | undefined> {
  const firstAfter = async (number: number) => {
    const [event] = await storage.eventsAfter(number, 1);
    return event === undefined || event.sequence >= end ? undefined : event.sequence;
  };
  let last = await firstAfter(Math.max(0, end - 2));
  if (last !== undefined) return last;
  last = await firstAfter(0);
  for (let beyond = end - 1; last !== undefined && beyond - last > 1; ) {
    const middle = Math.floor((last + beyond) / 2);
    const next: number | undefined = await firstAfter(middle - 1);
    if (next === undefined) beyond = middle;
    else last = next;
  }
  return last;
}

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
