import type { EventRecord } from '@grantd/core';
import { withActor } from '../data/audit.ts';
import type { OperationParts } from './operation.ts';

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
