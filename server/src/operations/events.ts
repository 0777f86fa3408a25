import type { EventRecord } from '@grantd/core';
import type { OperationParts } from './operation.ts';

export interface EventFilter {
  readonly type?: string | undefined;
  readonly target?: string | undefined;
}

/** Events per read. */
const PAGE_SIZE = 1000;

/**
 * Reads events in order, from one after a number.
 * @param limit maximum events; default: all
 */
export async function eventsAfter(
  { storage }: Pick<OperationParts, 'storage'>,
  after: number,
  { type, target }: EventFilter,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly EventRecord[]> {
  const found: EventRecord[] = [];
  for (let last = after; found.length < limit; ) {
    const events = await storage.eventsAfter(last, PAGE_SIZE);
    found.push(
      ...events.filter(
        (event) => (type ?? event.type) === event.type && (target ?? event.target) === event.target,
      ),
    );
    last = events.at(-1)?.sequence ?? last;
    if (events.length < PAGE_SIZE) break;
  }
  return found.slice(0, limit);
}
