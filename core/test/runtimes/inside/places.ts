import type { Place } from '../../harness/places.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';
import { STORES } from './stores.ts';

/** Where a spec suite runs on a runtime other than the pinned one: what needs nothing of Node. */
export const PLACES: readonly Place[] = [FUNCTION, FETCH].flatMap((transport) =>
  STORES.map((store) => ({ transport, store })),
);
